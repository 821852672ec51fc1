// Opening a capture: one pass over the file that keeps the intact blocks, steps over damage to the next block magic,
// and collects what gives the other records their meaning.
#include <sys/stat.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "profiler/capture/block.h"
#include "profiler/capture/byte_source.h"
#include "profiler/capture/crc32.h"
#include "profiler/capture/reader.h"

namespace ampprof::capture {

struct Reader::Scan {
  struct Lane {
    std::uint32_t thread = 0;
    std::uint64_t next_sequence = 0;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> process_of_uid;
  std::vector<std::unordered_map<std::uint32_t, Lane>> lanes;                               // by process
  std::vector<std::uint64_t> records_announced, records_read;                               // by process
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> losses;  // process, kind, reason
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> torn;                   // uid, lane, sequence
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> given_names;               // process, tid
  std::vector<std::byte> window;
};

namespace {

// NUL-separated, as the kernel and the writer have them.
std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\0', at);
    words.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return words;
    at = end + 1;
  }
}

constexpr std::size_t kFirstWindowBytes = 4 * 1024, kWindowBytes = 256 * 1024;

}  // namespace

std::unique_ptr<Reader> Reader::open(const std::string& path, std::string& error) {
  std::string file = path;
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) file = path + "/" + kCaptureFileName;
  auto source = ByteSource::open_file(file, error);
  return source ? scan(std::move(source), file, error) : nullptr;
}

std::unique_ptr<Reader> Reader::from_bytes(std::span<const std::byte> bytes, std::string& error) {
  return scan(ByteSource::over(bytes), "the input", error);
}

std::unique_ptr<Reader> Reader::scan(std::unique_ptr<ByteSource> source, const std::string& what, std::string& error) {
  std::unique_ptr<Reader> reader(new Reader(std::move(source)));
  Scan scan;
  bool saw_magic = false;
  std::uint64_t at = 0;
  while (at < reader->file_bytes_) {
    BlockHeader header;
    const std::size_t got = reader->source_->read(at, std::as_writable_bytes(std::span(&header, 1)));
    const bool magic = got >= sizeof kBlockMagic && std::memcmp(header.magic, kBlockMagic, sizeof kBlockMagic) == 0;
    saw_magic = saw_magic || magic;
    const bool intact_header = got == sizeof header && is_block_header(header);
    if (intact_header) {
      reader->payload_.resize(header.payload_bytes);
      const std::uint64_t payload_at = at + sizeof header;
      if (reader->source_->read(payload_at, reader->payload_) == header.payload_bytes &&
          crc32(0, reader->payload_.data(), reader->payload_.size()) == header.payload_crc) {
        reader->scan_block(scan, payload_at, header);
        at = payload_at + header.payload_bytes;
        continue;
      }
    }
    // Damage, or a block that another process's block interrupted, or the end of a file that was being written.
    const std::uint64_t next = reader->find_block(scan, at + 1);
    const bool cut_off = intact_header ? at + sizeof header + header.payload_bytes > reader->file_bytes_
                                       : magic && at + sizeof header > reader->file_bytes_;
    if (next == reader->file_bytes_ && cut_off) {
      reader->losses_.truncated_tail_bytes = next - at;
    } else {
      reader->losses_.damaged_bytes += next - at;
      ++reader->losses_.damaged_regions;
      if (intact_header)
        scan.torn.insert({header.process_uid, header.lane, header.sequence});
      else
        ++reader->losses_.unexplained_regions;
    }
    at = next;
  }
  reader->finish(scan);
  if (reader->blocks_.empty()) {
    if (reader->file_bytes_ == 0)
      error = what + " is empty: no block of a capture was written to it";
    else if (saw_magic)
      error = what + " holds no intact block of a capture in its " + std::to_string(reader->file_bytes_) + " bytes";
    else
      error =
          what + " is not an ampprof capture: no block begins in its " + std::to_string(reader->file_bytes_) + " bytes";
    return nullptr;
  }
  return reader;
}

/// Offset of the next block magic at or after `from`; the file's size if there is none.
std::uint64_t Reader::find_block(Scan& scan, std::uint64_t from) {
  constexpr std::size_t magic_bytes = sizeof kBlockMagic;
  std::size_t window = kFirstWindowBytes;  // the next block is mostly near
  scan.window.resize(kWindowBytes);
  const auto* magic = reinterpret_cast<const std::byte*>(kBlockMagic);
  while (from < file_bytes_) {
    const std::size_t got = source_->read(from, std::span(scan.window).first(window));
    const auto end = scan.window.begin() + static_cast<std::ptrdiff_t>(got);
    const auto found = std::search(scan.window.begin(), end, magic, magic + magic_bytes);
    if (found != end) return from + static_cast<std::uint64_t>(found - scan.window.begin());
    if (got < window) break;
    from += got - (magic_bytes - 1);
    window = std::min(window * 2, kWindowBytes);
  }
  return file_bytes_;
}

/// Takes in one intact block, whose payload is in payload_.
void Reader::scan_block(Scan& scan, std::uint64_t offset, const BlockHeader& header) {
  const auto [entry, is_new] =
      scan.process_of_uid.try_emplace(header.process_uid, static_cast<std::uint32_t>(processes_.size()));
  const std::uint32_t index = entry->second;
  if (is_new) {
    ProcessInfo& process = processes_.emplace_back();
    process.uid = header.process_uid;
    process.pid = header.pid;
    process.threads.emplace_back().name = "recorder";
    scan.lanes.emplace_back().emplace(0u, Scan::Lane{});
    strings_.emplace_back();
    unknown_strings_.emplace_back();
    scan.records_announced.push_back(0);
    scan.records_read.push_back(0);
  }
  ProcessInfo& process = processes_[index];
  auto [lane_entry, new_lane] = scan.lanes[index].try_emplace(header.lane);
  Scan::Lane& lane = lane_entry->second;
  if (new_lane) {
    lane.thread = static_cast<std::uint32_t>(process.threads.size());
    process.threads.emplace_back().tid = header.tid;
  }
  if (header.sequence < lane.next_sequence) {
    ++losses_.duplicate_blocks;
    return;
  }
  const std::uint64_t missing = header.sequence - lane.next_sequence;
  process.threads[lane.thread].missing_blocks += missing;
  losses_.missing_blocks += missing;
  lane.next_sequence = std::uint64_t{header.sequence} + 1;

  const Block block{offset, header.payload_bytes, index, lane.thread};
  RecordView record;
  std::size_t at = 0;
  while (at < payload_.size()) {
    if (!parse(block, at, record)) {
      ++losses_.bad_records;
      break;
    }
    if (header.lane != 0) {
      ++scan.records_read[index];
      // Until the process record says it. Records of lane 0 may be older than the process: a fork inherits them.
      if (!process.has_process_record && (process.start_ns == 0 || record.time_ns < process.start_ns))
        process.start_ns = record.time_ns;
    }
    process.last_ns = std::max(process.last_ns, record.time_ns);
    collect(scan, record);
  }
  blocks_.push_back(block);
}

void Reader::collect(Scan& scan, const RecordView& record) {
  ProcessInfo& process = processes_[record.process];
  switch (record.kind) {
    case RecordKind::ProcessRecord: {
      const auto r = read_record<ProcessRecord>(record);
      if (!process.has_process_record) process.start_ns = record.time_ns;  // later ones are repetitions
      process.has_process_record = true;
      process.pid = r.pid;
      process.parent_pid = r.parent_pid;
      process.event_version = r.event_version;
      process.recorder_version = r.recorder_version;
      process.forked = r.forked != 0;
      process.realtime_offset_ns = r.realtime_offset_ns;
      process.command = split_command(record_text(record));
      break;
    }
    case RecordKind::ThreadRecord: {
      const auto r = read_record<ThreadRecord>(record);
      // A name the program gave through NVTX is in lane 0, and counts more than the kernel's, in the thread's own lane.
      if (record.thread == 0)
        scan.given_names[{record.process, r.tid}] = record_text(record);
      else
        process.threads[record.thread].name = record_text(record);
      break;
    }
    case RecordKind::StringRecord:
      strings_[record.process].insert_or_assign(read_record<StringRecord>(record).handle,
                                                std::string(record_text(record)));
      break;
    case RecordKind::LossRecord: {
      const auto r = read_record<LossRecord>(record);
      auto& counted = scan.losses[{record.process, r.kind, r.reason}];
      counted = std::max(counted, r.count);
      break;
    }
    case RecordKind::SourceRecord: {
      const auto r = read_record<SourceRecord>(record);
      SourceInfo info{static_cast<Source>(r.source), static_cast<SourceState>(r.state),
                      std::string(record_text(record)), record.process};
      const bool known = std::any_of(sources_.begin(), sources_.end(), [&](const SourceInfo& s) {
        return s.source == info.source && s.state == info.state && s.process == info.process;
      });
      if (!known) sources_.push_back(std::move(info));
      break;
    }
    case RecordKind::ProcessEndRecord:
      process.ended = true;
      scan.records_announced[record.process] = read_record<ProcessEndRecord>(record).records;
      break;
    case RecordKind::TargetBeginRecord:
    case RecordKind::TargetEndRecord:
      process.is_ampprof = true;
      collect_target(record);
      break;
    default:
      break;
  }
}

void Reader::collect_target(const RecordView& record) {
  if (record.kind == RecordKind::TargetBeginRecord) {
    const auto r = read_record<TargetBeginRecord>(record);
    target_.begun = true;
    target_.command = split_command(record_text(record));
    target_.start_ns = record.time_ns;
    target_.realtime_offset_ns = r.realtime_offset_ns;
    target_.stats_every = r.stats_every;
    target_.steps_first = r.steps_first;
    target_.steps_end = r.steps_end;
    return;
  }
  const auto r = read_record<TargetEndRecord>(record);
  target_.ended = true;
  target_.exit_code = r.exit_code;
  target_.signal = static_cast<int>(r.signal);
  target_.core_dumped = r.core_dumped != 0;
  target_.wall_ns = r.wall_ns;
  target_.user_ns = r.user_ns;
  target_.system_ns = r.system_ns;
}

void Reader::finish(Scan& scan) {
  // A torn block is no loss where the writer tried again. Gaps before a lane's last block are counted already.
  for (const auto& [uid, lane, sequence] : scan.torn) {
    const auto process = scan.process_of_uid.find(uid);
    const auto* lanes = process == scan.process_of_uid.end() ? nullptr : &scan.lanes[process->second];
    const auto found =
        lanes == nullptr ? std::unordered_map<std::uint32_t, Scan::Lane>::const_iterator{} : lanes->find(lane);
    if (lanes == nullptr || found == lanes->end() || sequence >= found->second.next_sequence) ++losses_.missing_blocks;
  }
  for (const auto& [key, given] : scan.given_names)
    for (ThreadInfo& thread : processes_[key.first].threads)
      if (thread.tid == key.second && thread.tid != 0) thread.name = given;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_kind;
  for (const auto& [key, count] : scan.losses) by_kind[{std::get<1>(key), std::get<2>(key)}] += count;
  for (const auto& [key, count] : by_kind)
    losses_.recorded.push_back({static_cast<RecordKind>(key.first), static_cast<LossReason>(key.second), count});
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const ProcessInfo& process = processes_[i];
    if (process.is_ampprof) continue;
    if (!process.ended) ++losses_.unended_processes;
    // What the recorder says it dropped was announced too, and is counted by kind.
    std::uint64_t accounted = scan.records_read[i];
    for (const auto& [key, count] : scan.losses)
      if (std::get<0>(key) == i && static_cast<LossReason>(std::get<2>(key)) == LossReason::write_failed)
        accounted += count;
    if (scan.records_announced[i] > accounted) losses_.missing_records += scan.records_announced[i] - accounted;
  }
}

}  // namespace ampprof::capture
