// See from_capture.h. One pass over the records; the reader has already found strings, processes and losses.
#include "profiler/timeline/from_capture.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "profiler/capture/reader.h"
#include "profiler/timeline/builder.h"

namespace ampprof::timeline {
namespace {

using capture::Reader;
using capture::RecordKind;
using capture::RecordView;

class Import {
 public:
  explicit Import(Reader& reader) : reader_(reader) {
    for (const capture::ProcessInfo& info : reader_.processes()) {
      Process process;
      process.pid = info.pid;
      process.parent_pid = info.parent_pid;
      process.command = info.command;
      process.ended = info.ended;
      // `ampprof run` itself is in the file but is no process of the run.
      index_.push_back(info.is_ampprof ? kNone : builder_.add_process(std::move(process)));
    }
  }

  Timeline run() {
    RecordView record;
    while (reader_.next(record)) {
      if (index_[record.process] != kNone) take(record);
    }
    describe_run();
    describe_losses();
    return builder_.finish();
  }

 private:
  [[nodiscard]] std::uint64_t tid(const RecordView& record) const {
    const auto& threads = reader_.process(record.process).threads;
    return record.thread < threads.size() ? threads[record.thread].tid : record.thread;
  }
  std::uint32_t track(const RecordView& record, std::string_view domain) {
    return builder_.track(index_[record.process], tid(record), domain);
  }
  [[nodiscard]] std::string domain_name(const RecordView& record, std::uint32_t handle) const {
    if (handle == 0) return "default";
    if (handle == capture::kAmpDomain) return amp::kNvtxDomain;
    return std::string(reader_.string(record.process, handle));
  }
  [[nodiscard]] std::string_view text(const RecordView& record, std::uint64_t handle) const {
    return handle == 0 ? std::string_view() : reader_.string(record.process, handle);
  }
  template <class Record>
  [[nodiscard]] std::string_view message(const RecordView& record, const Record& body) const {
    return body.message != 0 ? reader_.string(record.process, body.message) : capture::record_text(record);
  }

  void take(const RecordView& record) {
    // A time beyond the signed range can only be damage that the checksum did not see.
    if (record.time_ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      builder_.lose("records with an impossible time");
      return;
    }
    if (capture::is_event(record.kind))
      take_event(record, static_cast<std::int64_t>(record.time_ns));
    else
      take_range(record, static_cast<std::int64_t>(record.time_ns));
  }

  void take_event(const RecordView& record, std::int64_t now) {
    const std::uint32_t lane = track(record, amp::kNvtxDomain);
    switch (record.kind) {
      case RecordKind::OpEvent: {
        const auto event = capture::read_event<amp::OpEvent>(record);
        builder_.begin_op(lane, now, event, text(record, event.op_name), text(record, event.module_path));
        break;
      }
      case RecordKind::CastEvent: {
        const auto event = capture::read_event<amp::CastEvent>(record);
        builder_.begin_cast(lane, now, event, text(record, event.cause_name), text(record, event.module_path));
        break;
      }
      case RecordKind::ScalerEvent: {
        const auto event = capture::read_event<amp::ScalerEvent>(record);
        builder_.scaler(lane, now, event, text(record, event.first_nonfinite));
        break;
      }
      case RecordKind::TensorStatEvent:
        take_tensor(record, lane, now);
        break;
      case RecordKind::AllocEvent:
        builder_.alloc(lane, now, capture::read_event<amp::AllocEvent>(record));
        break;
      case RecordKind::FreeEvent:
        builder_.free(lane, now, capture::read_event<amp::FreeEvent>(record));
        break;
      case RecordKind::CauseEvent:
        builder_.cause(lane, now, capture::read_event<amp::CauseEvent>(record));
        break;
      case RecordKind::StepEvent:
        builder_.step(lane, now, capture::read_event<amp::StepEvent>(record));
        break;
      case RecordKind::FactEvent: {
        const auto event = capture::read_event<amp::FactEvent>(record);
        builder_.fact(lane, text(record, event.key), text(record, event.value));
        break;
      }
      default:
        builder_.lose("events of a kind this version does not know");
        break;
    }
  }

  void take_tensor(const RecordView& record, std::uint32_t lane, std::int64_t now) {
    const auto event = capture::read_event<amp::TensorStatEvent>(record);
    counts_.clear();
    for (std::uint32_t i = 0; i < event.exponent_bins && i < kMaxExponentBins; ++i)
      counts_.push_back(capture::exponent_count(record, i));
    builder_.tensor(lane, now, event, text(record, event.tensor_name), counts_);
  }

  void take_range(const RecordView& record, std::int64_t now) {
    const std::uint32_t process = index_[record.process];
    switch (record.kind) {
      case RecordKind::RangePushRecord: {
        const auto body = capture::read_record<capture::RangePushRecord>(record);
        builder_.begin_range(track(record, domain_name(record, body.domain)), now, message(record, body));
        break;
      }
      case RecordKind::RangePopRecord: {
        const auto body = capture::read_record<capture::RangePopRecord>(record);
        builder_.end(track(record, domain_name(record, body.domain)), now);
        break;
      }
      case RecordKind::RangeStartRecord: {
        const auto body = capture::read_record<capture::RangeStartRecord>(record);
        builder_.start_overlap_range(process, body.range, now, domain_name(record, body.domain), message(record, body));
        break;
      }
      case RecordKind::RangeEndRecord:
        builder_.end_overlap_range(process, capture::read_record<capture::RangeEndRecord>(record).range, now);
        break;
      case RecordKind::MarkRecord: {
        const auto body = capture::read_record<capture::MarkRecord>(record);
        builder_.mark(process, tid(record), now, domain_name(record, body.domain), message(record, body));
        break;
      }
      case RecordKind::ProcessRecord:
        builder_.see(process, now);
        break;
      case RecordKind::ProcessEndRecord:
        builder_.see(process, now);
        break;
      default:
        break;  // threads, strings, sources and losses were collected by the reader
    }
  }

  void describe_run() {
    Timeline& timeline = builder_.timeline();
    const capture::TargetInfo& target = reader_.target();
    timeline.command = target.command;
    if (target.ended) {
      TargetEnd end;
      end.signal = target.signal;
      end.exit_code = target.signal != 0 ? 128 + target.signal : target.exit_code;
      end.wall_ns = target.wall_ns;
      timeline.target_end = end;
    }
    for (std::size_t i = 0; i < index_.size(); ++i) {
      if (index_[i] == kNone) continue;
      const capture::ProcessInfo& info = reader_.processes()[i];
      if (timeline.command.empty() && !info.command.empty()) timeline.command = info.command;
      for (const capture::ThreadInfo& thread : info.threads)
        if (!thread.name.empty()) builder_.name_thread(index_[i], thread.tid, thread.name);
    }
    if (target.begun && !target.ended)
      builder_.note("The end of the command was not recorded: ampprof was killed, or the command still runs.");
    std::uint64_t unended = 0;
    for (const Process& process : timeline.processes) unended += process.ended ? 0 : 1;
    if (unended != 0)
      builder_.note(
          fmt::format("{} of {} processes ended without shutdown (killed, _exit, exec, or still running): what was not "
                      "yet written, "
                      "at most the last fraction of a second, is missing.",
                      unended, timeline.processes.size()));
    for (const capture::SourceInfo& source : reader_.sources()) {
      if (source.state == capture::SourceState::recording || source.state == capture::SourceState::none) continue;
      const std::string why = source.reason.empty() ? std::string(capture::name(source.state)) : source.reason;
      const std::string sentence = fmt::format("{}: {}", capture::name(source.source), why);
      bool said = false;
      for (const std::string& note : timeline.notes) said |= note == sentence;
      if (!said) builder_.note(sentence);
    }
  }

  void describe_losses() {
    const capture::Losses& losses = reader_.losses();
    // A torn block that was written again is damage without a loss.
    if (losses.unexplained_regions != 0) builder_.lose("damaged bytes of the capture", losses.damaged_bytes);
    builder_.lose("bytes of a last block that was not completed", losses.truncated_tail_bytes);
    builder_.lose("missing blocks of the capture", losses.missing_blocks);
    builder_.lose("records that a process wrote and the capture lacks", losses.missing_records);
    builder_.lose("records that do not fit their block", losses.bad_records);
    builder_.lose("strings", losses.unknown_strings);
    for (const auto& lost : losses.recorded) {
      const std::string_view kind = lost.kind == RecordKind::none ? "record" : capture::name(lost.kind);
      builder_.lose(fmt::format("{} ({})", kind, capture::name(lost.reason)), lost.count);
    }
  }

  static constexpr std::uint32_t kMaxExponentBins = 4096;  // float64 has 2098; more can only be damage

  Reader& reader_;
  TimelineBuilder builder_;
  std::vector<std::uint32_t> index_;  // process of the reader -> process of the timeline
  std::vector<std::uint64_t> counts_;
};

std::unique_ptr<Reader> open_capture(const std::string& path, std::string& error) {
  std::unique_ptr<Reader> reader = Reader::open(path, error);
  if (reader) return reader;
  const std::string looks = describe_file(path);
  if (!looks.empty())
    error = fmt::format(
        "{}: this looks like {}; ampprof report reads captures of ampprof run (capture.amptrace, or the "
        "directory that holds one)",
        path, looks);
  return nullptr;
}

}  // namespace

bool check_readable(const std::string& path, std::string& error) { return open_capture(path, error) != nullptr; }

Timeline read_timeline(const std::string& path) {
  std::string error;
  const std::unique_ptr<Reader> reader = open_capture(path, error);
  if (!reader) throw UnreadableInput(error);
  return Import(*reader).run();
}

}  // namespace ampprof::timeline
