// Captures made by hand and by the writer, for the tests of everything that reads them.
#pragma once
#include <string>
#include <vector>

#include "profiler/capture/block.h"
#include "profiler/capture/dump.h"
#include "profiler/capture/reader.h"

namespace ampprof::test {

/// Who writes a block; the defaults are those of FORMAT.md's example.
struct BlockOrigin {
  std::uint64_t uid = 0x1122334455667788;
  std::uint32_t pid = 4711, tid = 4712, lane = 1, sequence = 0;
};

/// A sealed block of the records in `payload` (see capture::append_record).
std::string make_block(const BlockOrigin& origin, std::string_view payload);

/// A capture in memory: a process with strings and two threads of some events, `blocks` blocks for each thread.
std::string make_capture(int blocks);

/// A reader over bytes that owns them.
class OwnedReader {
 public:
  explicit OwnedReader(std::string bytes);
  capture::Reader* operator->() { return reader_.get(); }
  capture::Reader& operator*() { return *reader_; }
  explicit operator bool() const { return reader_ != nullptr; }
  std::string error;

 private:
  std::string bytes_;
  std::unique_ptr<capture::Reader> reader_;
};

/// The records of a kind, read through; payloads copied.
std::vector<std::vector<std::byte>> records_of(capture::Reader& reader, capture::RecordKind kind);
std::size_t count_of(capture::Reader& reader, capture::RecordKind kind);
/// All lines of the stable dump.
std::vector<std::string> stable_dump(capture::Reader& reader);

std::string read_file(const std::string& path);

/// A directory of its own that is removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

}  // namespace ampprof::test
