// Handing out records, and looking things up. The scan that finds the intact blocks is in reader_scan.cpp.
#include "profiler/capture/reader.h"

#include "profiler/capture/block.h"
#include "profiler/capture/byte_source.h"

namespace ampprof::capture {

bool Losses::any() const {
  return missing_blocks > 0 || missing_records > 0 || bad_records > 0 || unexplained_regions > 0 ||
         truncated_tail_bytes > 0 || !recorded.empty();
}

Reader::Reader(std::unique_ptr<ByteSource> source) : source_(std::move(source)), file_bytes_(source_->size()) {}
Reader::~Reader() = default;

void Reader::rewind() {
  next_block_ = at_ = 0;
  current_block_ = kNoBlock;
}

bool Reader::next(RecordView& record) {
  while (true) {
    if (current_block_ != kNoBlock && parse(blocks_[current_block_], at_, record)) return true;
    if (next_block_ == blocks_.size()) {
      current_block_ = kNoBlock;
      return false;
    }
    at_ = 0;
    current_block_ = static_cast<std::uint32_t>(next_block_++);
    // Was intact when it was scanned; a file that shrank since then only ends early.
    if (!load(blocks_[current_block_])) current_block_ = kNoBlock;
  }
}

bool Reader::load(const Block& block) {
  payload_.resize(block.payload_bytes);
  return source_->read(block.offset, payload_) == payload_.size();
}

bool Reader::parse(const Block& block, std::size_t& at, RecordView& record) const {
  if (payload_.size() - at < kRecordHeaderBytes) return false;
  std::uint16_t kind, bytes;
  std::memcpy(&kind, payload_.data() + at, 2);
  std::memcpy(&bytes, payload_.data() + at + 2, 2);
  std::memcpy(&record.time_ns, payload_.data() + at + 4, 8);
  at += kRecordHeaderBytes;
  if (bytes > payload_.size() - at) {
    at = payload_.size();
    return false;
  }
  record.kind = static_cast<RecordKind>(kind);
  record.process = block.process;
  record.thread = block.thread;
  record.payload = std::span(payload_).subspan(at, bytes);
  at += bytes;
  return true;
}

bool Reader::has_string(std::uint32_t process, std::uint64_t handle) const {
  return process < strings_.size() && strings_[process].contains(handle);
}

std::string_view Reader::string(std::uint32_t process, std::uint64_t handle) const {
  if (handle == 0) return {};
  if (process < strings_.size()) {
    const auto& strings = strings_[process];
    if (const auto found = strings.find(handle); found != strings.end()) return found->second;
    if (unknown_strings_[process].insert(handle).second) ++losses_.unknown_strings;
  }
  return "(lost string)";
}

}  // namespace ampprof::capture
