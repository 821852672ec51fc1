// Captures made by hand and by the writer, for the tests of everything that reads them.
#include "tests/capture/capture_support.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "libamp/base/event.h"

namespace ampprof::test {

using namespace capture;

std::string make_block(const BlockOrigin& origin, std::string_view payload) {
  BlockHeader header{};
  header.process_uid = origin.uid;
  header.pid = origin.pid;
  header.tid = origin.tid;
  header.lane = origin.lane;
  header.sequence = origin.sequence;
  header.written_ns = 1'000'000'000;
  seal_block(header, std::as_bytes(std::span(payload)));
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(payload);
}

namespace {

template <class Event>
void append_event(std::string& to, const Event& event, std::uint64_t time_ns) {
  std::byte header[kRecordHeaderBytes];
  const std::size_t bytes = trimmed_bytes(&event, sizeof event);
  encode_record_header(header, record_kind(Event::kId), bytes, time_ns);
  to.append(reinterpret_cast<const char*>(header), sizeof header);
  to.append(reinterpret_cast<const char*>(&event), bytes);
}

}  // namespace

std::string make_capture(int blocks) {
  std::string names;
  ProcessRecord process;
  const std::string command("train\0--fp16", 12);
  process.text_bytes = static_cast<std::uint32_t>(command.size());
  process.pid = 4711;
  append_record(names, process, 100, command);
  StringRecord matmul;
  matmul.text_bytes = 6;
  matmul.handle = 2;
  append_record(names, matmul, 101, "matmul");
  std::string file = make_block({.tid = 0, .lane = 0}, names);
  for (int i = 0; i < blocks; ++i)
    for (std::uint32_t lane = 1; lane <= 2; ++lane) {
      std::string payload;
      for (std::uint32_t k = 0; k < 3; ++k) {
        amp::OpEvent op;
        op.step = static_cast<std::uint32_t>(i);
        op.op_name = 2;
        op.flops = 1e9;
        op.dims[0] = k + 1;
        append_event(payload, op, 200u + static_cast<std::uint64_t>(i) * 10 + k);
        RangePopRecord pop;
        pop.domain = kAmpDomain;
        append_record(payload, pop, 201u + static_cast<std::uint64_t>(i) * 10 + k);
      }
      file += make_block({.tid = 4710 + lane, .lane = lane, .sequence = static_cast<std::uint32_t>(i)}, payload);
    }
  return file;
}

OwnedReader::OwnedReader(std::string bytes) : bytes_(std::move(bytes)) {
  reader_ = Reader::from_bytes(std::as_bytes(std::span(bytes_)), error);
}

std::vector<std::vector<std::byte>> records_of(Reader& reader, RecordKind kind) {
  std::vector<std::vector<std::byte>> found;
  reader.rewind();
  for (RecordView record; reader.next(record);)
    if (record.kind == kind) found.emplace_back(record.payload.begin(), record.payload.end());
  return found;
}

std::size_t count_of(Reader& reader, RecordKind kind) { return records_of(reader, kind).size(); }

std::vector<std::string> stable_dump(Reader& reader) {
  std::vector<std::string> lines;
  dump(reader, {.stable = true}, [&](const std::string& line) { lines.push_back(line); });
  return lines;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "ampprof-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  path = name;
}
TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace ampprof::test
