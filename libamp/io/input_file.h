// A file that is read from its begin to its end, for the readers of formats.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace amp::io {

/// An open regular file of known length. Errors are Error(io) "[where] PATH: ...".
class InputFile {
 public:
  /// Throws if the file is missing or is not a regular file; a pipe is refused, not waited for.
  InputFile(std::string_view where, std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Reads exactly `bytes` bytes from byte `at`. Throws if they are not there. [any thread]
  void read(void* out, std::uint64_t bytes, std::uint64_t at) const;
  /// Throws Error(io) with this file's name.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string where_, path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// All of a file. Throws Error(io), also for files of more than `limit` bytes.
std::string read_whole_file(std::string_view where, const std::string& path, std::uint64_t limit);

}  // namespace amp::io
