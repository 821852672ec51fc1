// Reads a capture back, past whatever damage it has. Opening scans the whole file once for intact blocks, collects
// processes, threads and strings (so a string found late serves records before it) and counts what is missing; next()
// then hands out the records. The timeline is built from this and nothing else.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "profiler/capture/record.h"

namespace ampprof::capture {

struct ThreadInfo {
  std::uint32_t tid = 0;             ///< 0 for the recorder's own lane, thread 0 of every process
  std::string name;                  ///< bytes as the program gave them
  std::uint64_t missing_blocks = 0;  ///< gaps in the block numbers of this thread
};

struct ProcessInfo {
  std::uint64_t uid = 0;  ///< identity in the file, unlike the pid never reused
  std::uint32_t pid = 0, parent_pid = 0;
  bool has_process_record = false;       ///< false: the block that held it is lost
  bool is_ampprof = false;               ///< ampprof run itself: holds only target records
  bool forked = false;                   ///< came from fork() of a recorded process
  bool ended = false;                    ///< ran its exit handlers; otherwise "ended without shutdown" (or still runs)
  std::uint64_t start_ns = 0;            ///< recording began, CLOCK_MONOTONIC
  std::uint64_t last_ns = 0;             ///< time of its last record that was read
  std::uint64_t realtime_offset_ns = 0;  ///< add to a time_ns to get nanoseconds since 1970
  std::uint32_t event_version = 0, recorder_version = 0;
  std::vector<std::string> command;
  std::vector<ThreadInfo> threads;  ///< index: RecordView::thread
};

/// What `ampprof run` wrote about the run as a whole.
struct TargetInfo {
  bool begun = false;  ///< false: the capture was not made by ampprof run, or that block is lost
  bool ended = false;  ///< false: ampprof was killed, or the target still runs
  std::vector<std::string> command;
  std::uint64_t start_ns = 0, wall_ns = 0, user_ns = 0, system_ns = 0;
  std::uint64_t realtime_offset_ns = 0;
  int exit_code = 0;
  int signal = 0;  ///< not 0: it was ended by this signal
  bool core_dumped = false;
  std::uint32_t stats_every = 0, steps_first = 0, steps_end = 0;
};

struct SourceInfo {
  Source source = Source::none;
  SourceState state = SourceState::none;
  std::string reason;
  std::uint32_t process = 0;
};

/// Everything known to be missing. The sum of nothing is zero; what cannot be known is said in FORMAT.md.
struct Losses {
  std::uint64_t damaged_bytes = 0;         ///< skipped on the way to the next intact block
  std::uint64_t damaged_regions = 0;       ///< how many such stretches
  std::uint64_t unexplained_regions = 0;   ///< those of them that do not show which block they were
  std::uint64_t truncated_tail_bytes = 0;  ///< a last block that was not written to its end
  std::uint64_t missing_blocks = 0;        ///< gaps in the block numbers, and torn blocks that were not written again
  std::uint64_t missing_records = 0;       ///< of processes that ended in order: written but not read back
  std::uint64_t duplicate_blocks = 0;      ///< seen before, ignored
  std::uint64_t bad_records = 0;           ///< records that run over the end of their block
  std::uint64_t unknown_strings = 0;       ///< distinct handles looked up whose string is lost
  std::uint64_t unended_processes = 0;     ///< processes without an end record
  struct Recorded {
    RecordKind kind = RecordKind::none;
    LossReason reason = LossReason::none;
    std::uint64_t count = 0;
  };
  std::vector<Recorded> recorded;  ///< what the recorder itself said it lost, all processes
  /// True if any record of the run is known to be missing. A torn block that was written again is no loss.
  [[nodiscard]] bool any() const;
};

class ByteSource;
struct BlockHeader;

/// Usage: open, then `while (reader->next(record)) ...`; rewind() starts again. Not thread safe.
class Reader {
 public:
  /// Opens a capture file, or the capture.amptrace in a directory. Null if it is missing, unreadable or not a
  /// capture; `error` then says which, in a sentence that names the path.
  static std::unique_ptr<Reader> open(const std::string& path, std::string& error);
  /// The same over bytes in memory, which must outlive the reader.
  static std::unique_ptr<Reader> from_bytes(std::span<const std::byte> bytes, std::string& error);
  ~Reader();

  /// Next record; false at the end. Records of one thread come in the order they were recorded; those of different
  /// threads come block by block and must be merged by time_ns.
  bool next(RecordView& record);
  void rewind();

  /// The bytes behind a string handle of a process; "(lost string)" if no block that held it is intact, "" for 0.
  [[nodiscard]] std::string_view string(std::uint32_t process, std::uint64_t handle) const;
  [[nodiscard]] bool has_string(std::uint32_t process, std::uint64_t handle) const;

  [[nodiscard]] const std::vector<ProcessInfo>& processes() const { return processes_; }
  [[nodiscard]] const ProcessInfo& process(std::uint32_t index) const { return processes_.at(index); }
  [[nodiscard]] const TargetInfo& target() const { return target_; }
  [[nodiscard]] const std::vector<SourceInfo>& sources() const { return sources_; }
  [[nodiscard]] const Losses& losses() const { return losses_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Block {
    std::uint64_t offset = 0;  // of the payload
    std::uint32_t payload_bytes = 0, process = 0, thread = 0;
  };
  struct Scan;  // what only opening needs
  static constexpr std::uint32_t kNoBlock = 0xffffffffu;

  explicit Reader(std::unique_ptr<ByteSource> source);
  static std::unique_ptr<Reader> scan(std::unique_ptr<ByteSource> source, const std::string& what, std::string& error);
  void scan_block(Scan& scan, std::uint64_t offset, const BlockHeader& header);
  std::uint64_t find_block(Scan& scan, std::uint64_t from);
  void collect(Scan& scan, const RecordView& record);
  void collect_target(const RecordView& record);
  void finish(Scan& scan);
  bool load(const Block& block);
  bool parse(const Block& block, std::size_t& at, RecordView& record) const;

  std::unique_ptr<ByteSource> source_;
  std::uint64_t file_bytes_ = 0;
  std::vector<Block> blocks_;
  std::vector<ProcessInfo> processes_;
  std::vector<std::map<std::uint64_t, std::string>> strings_;  // by process
  TargetInfo target_;
  std::vector<SourceInfo> sources_;
  mutable Losses losses_;  // looking a lost string up is what shows that it is lost
  mutable std::vector<std::set<std::uint64_t>> unknown_strings_;
  std::vector<std::byte> payload_;  // of the block being read
  std::size_t next_block_ = 0, at_ = 0;
  std::uint32_t current_block_ = kNoBlock;
};

}  // namespace ampprof::capture
