// trace.json.gz: Chrome Trace Event JSON, object form, for Perfetto and chrome://tracing. Everything of the timeline is
// in it. Slices of a track nest by construction; each NVTX domain of a thread and the steps have a lane of their own.
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "profiler/report/json_writer.h"
#include "profiler/report/report.h"

namespace ampprof::report {
namespace {

using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

// Lanes that are no thread get thread ids from here on; Linux' own end at 2^22.
constexpr std::uint64_t kDomainLanes = 1u << 24;
constexpr std::uint64_t kStepLanes = 1u << 25;
constexpr std::size_t kMaxMemoryCounters = 200000;

/// A gzip file written piece by piece.
class GzipFile {
 public:
  explicit GzipFile(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "wb6")) {
    if (file_ == nullptr) fail(std::strerror(errno));
  }
  ~GzipFile() { close(); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(const std::string& bytes) {
    if (file_ == nullptr || !error_.empty() || bytes.empty()) return;
    if (gzwrite(file_, bytes.data(), static_cast<unsigned>(bytes.size())) > 0) return;
    int code = 0;
    const char* text = gzerror(file_, &code);
    fail(code == Z_ERRNO ? std::strerror(errno) : text);
  }
  /// "" or what went wrong, with the path.
  std::string close() {
    if (file_ != nullptr && gzclose(file_) != Z_OK) fail(std::strerror(errno));
    file_ = nullptr;
    return error_;
  }

 private:
  void fail(const char* why) {
    if (error_.empty()) error_ = fmt::format("{}: {}", path_, why);
  }
  std::string path_, error_;
  gzFile file_;
};

class Writer {
 public:
  Writer(const Timeline& timeline, GzipFile& file) : timeline_(timeline), file_(file), json_(buffer_) {
    std::set<std::uint32_t> used;
    for (std::size_t p = 0; p < timeline_.processes.size(); ++p) {
      std::uint32_t pid = timeline_.processes[p].pid;
      while (!used.insert(pid).second) pid += 1u << 23;  // a pid that was used twice in the run
      pids_.push_back(pid);
    }
    std::set<std::pair<std::uint32_t, std::uint64_t>> threads;
    for (std::size_t t = 0; t < timeline_.tracks.size(); ++t) {
      const timeline::Track& track = timeline_.tracks[t];
      const bool own = track.domain == amp::kNvtxDomain && threads.insert({track.process, track.tid}).second;
      tids_.push_back(own ? track.tid : kDomainLanes + t);
    }
  }

  void run() {
    json_.begin_object().field("displayTimeUnit", "ms");
    json_.key("otherData").begin_object().field("producer", "ampprof").field("version", AMPPROF_VERSION);
    for (const auto& [kind, count] : timeline_.losses) json_.field("lost: " + kind, count);
    json_.end_object();
    json_.key("traceEvents").begin_array();
    write_names();
    write_steps();
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) write_slice(timeline_.slices[i]);
    write_links();
    write_ranges();
    write_scale();
    write_memory();
    json_.end_array().end_object();
    buffer_ += '\n';
    file_.write(buffer_);
  }

 private:
  /// Microseconds with the nanoseconds behind the point, as text: a double would round them.
  void time_field(const char* key, std::int64_t ns) {
    if (ns < 0) ns = 0;
    json_.key(key).raw(fmt::format("{}.{:03}", ns / 1000, ns % 1000));
  }
  void begin(const char* phase, std::string_view name, std::uint32_t process, std::uint64_t tid, std::int64_t time_ns) {
    if (buffer_.size() > (1u << 20)) {
      file_.write(buffer_);
      buffer_.clear();
    }
    json_.line();
    json_.begin_object().field("ph", phase).field("name", name).field("pid", pids_[process]).field("tid", tid);
    time_field("ts", time_ns - timeline_.start_ns);
  }
  void name_lane(std::uint32_t process, std::uint64_t tid, const char* what, const std::string& name) {
    begin("M", what, process, tid, timeline_.start_ns);
    json_.key("args").begin_object().field("name", name).end_object().end_object();
  }

  void write_names() {
    for (std::uint32_t p = 0; p < timeline_.processes.size(); ++p) {
      const auto& command = timeline_.processes[p].command;
      name_lane(p, 0, "process_name", command.empty() ? "process" : fmt::format("{}", fmt::join(command, " ")));
    }
    std::set<std::uint32_t> with_steps;
    for (const timeline::Step& step : timeline_.steps) with_steps.insert(step.track);
    for (std::uint32_t t = 0; t < timeline_.tracks.size(); ++t) {
      const timeline::Track& track = timeline_.tracks[t];
      std::string name = track.thread_name.empty() ? fmt::format("thread {}", track.tid) : track.thread_name;
      if (with_steps.contains(t)) name_lane(track.process, kStepLanes + t, "thread_name", name + " steps");
      if (track.domain != amp::kNvtxDomain) name += " / " + track.domain;
      name_lane(track.process, tids_[t], "thread_name", name);
    }
  }

  void write_steps() {
    std::map<std::uint32_t, std::int64_t> free_from;  // steps of one lane never overlap, whatever the capture says
    for (const timeline::Step& step : timeline_.steps) {
      std::int64_t& from = free_from[step.track];
      const std::int64_t start = std::max(step.start_ns, from);
      from = std::max(step.end_ns, start);
      begin("X", fmt::format("step {}", step.step), step.process, kStepLanes + step.track, start);
      time_field("dur", from - start);
      json_.field("cat", "step");
      json_.key("args").begin_object().field("step", step.step).field("sampled", step.sampled);
      json_.field("unclosed", step.unclosed).end_object().end_object();
    }
  }

  void write_slice(const Slice& slice) {
    const std::uint32_t process = timeline_.tracks[slice.track].process;
    const std::uint64_t tid = tids_[slice.track];
    const auto open = [&](std::string_view name, const char* category) {
      const bool instant = slice.kind == SliceKind::cast && timeline_.cast_kinds[slice.detail].event.cached != 0;
      begin(instant ? "i" : "X", name, process, tid, slice.start_ns);
      if (instant)
        json_.field("s", "t");
      else
        time_field("dur", slice.dur_ns());
      json_.field("cat", category);
      json_.key("args").begin_object();
      if (slice.step != amp::kNoStep) json_.field("step", slice.step);
      if (slice.unclosed) json_.field("unclosed", true);
    };
    if (slice.kind == SliceKind::op) {
      const timeline::OpKind& op = timeline_.op_kinds[slice.detail];
      open(timeline_.strings.text(op.name), "op");
      write_op_args(op);
    } else if (slice.kind == SliceKind::cast) {
      const timeline::CastKind& cast = timeline_.cast_kinds[slice.detail];
      const amp::CastEvent& e = cast.event;
      open(
          fmt::format("{}cast {}->{}", e.cached != 0 ? "cached " : "", amp::short_name(static_cast<amp::DType>(e.from)),
                      amp::short_name(static_cast<amp::DType>(e.to))),
          "cast");
      json_.field("cause_op", timeline_.strings.text(cast.cause));
      if (cast.module.value != 0) json_.field("module", timeline_.strings.text(cast.module));
      json_.field("elements", e.elements).field("bytes", e.bytes);
    } else {
      open(timeline_.strings.text(timeline_.range_kinds[slice.detail].name), "range");
    }
    json_.end_object().end_object();
  }

  void write_op_args(const timeline::OpKind& op) {
    const amp::OpEvent& e = op.event;
    json_.field("compute_dtype", amp::name(static_cast<amp::DType>(e.compute_dtype)));
    json_.field("reason", amp::name(static_cast<amp::Reason>(e.reason)));
    json_.field("rule", amp::name(static_cast<amp::CastRule>(e.rule)));
    json_.field("phase", amp::name(static_cast<amp::Phase>(e.phase)));
    if (op.module.value != 0) json_.field("module", timeline_.strings.text(op.module));
    std::string inputs;
    std::size_t dim = 0;
    for (std::size_t i = 0; i < e.input_count && i < amp::kMaxEventInputs; ++i) {
      inputs += fmt::format("{}{}[", i == 0 ? "" : ", ", amp::short_name(static_cast<amp::DType>(e.input_dtypes[i])));
      for (std::size_t d = 0; d < e.input_ndims[i] && dim < amp::kMaxEventDims; ++d, ++dim)
        inputs += fmt::format("{}{}", d == 0 ? "" : "x", e.dims[dim]);
      inputs += ']';
    }
    json_.field("inputs", inputs).field("flops", e.flops).field("bytes", e.bytes);
  }

  void write_links() {
    std::uint64_t id = 0;
    for (const timeline::Link& link : timeline_.links) {
      const Slice &from = timeline_.slices[link.from], &to = timeline_.slices[link.to];
      ++id;
      for (const bool start : {true, false}) {
        const Slice& end = start ? from : to;
        begin(start ? "s" : "f", "cast for op", timeline_.tracks[end.track].process, tids_[end.track], end.start_ns);
        json_.field("cat", "cast").field("id", id);
        if (!start) json_.field("bp", "e");
        json_.end_object();
      }
    }
  }

  void write_ranges() {
    std::uint64_t id = 0;
    for (const timeline::OverlapRange& range : timeline_.overlap_ranges) {
      ++id;
      for (const bool start : {true, false}) {
        begin(start ? "b" : "e", timeline_.strings.text(range.name), range.process, 0,
              start ? range.start_ns : range.end_ns);
        json_.field("cat", timeline_.strings.text(range.domain)).field("id", fmt::format("0x{:x}", id)).end_object();
      }
    }
    for (const timeline::Mark& mark : timeline_.marks) {
      begin("i", timeline_.strings.text(mark.name), mark.process, mark.tid, mark.time_ns);
      json_.field("s", "t").field("cat", timeline_.strings.text(mark.domain)).end_object();
    }
  }

  void write_scale() {
    for (const timeline::ScalerRecord& record : timeline_.scaler) {
      const auto action = static_cast<amp::ScalerAction>(record.event.action);
      if (action == amp::ScalerAction::step && record.event.skipped != 0) {
        begin("i", "step skipped", record.process, 0, record.time_ns);
        json_.field("s", "p").field("cat", "scaler");
        json_.key("args").begin_object().field("step", record.event.step);
        json_.field("first_nonfinite", timeline_.strings.text(record.first_nonfinite)).end_object().end_object();
      }
      if (action == amp::ScalerAction::unscale || action == amp::ScalerAction::step) continue;
      begin("C", "loss scale", record.process, 0, record.time_ns);
      json_.key("args").begin_object().field("scale", record.event.scale_after).end_object().end_object();
    }
  }

  void write_memory() {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> live;
    std::map<std::uint32_t, std::uint64_t> bytes;
    const std::size_t every = timeline_.memory.size() / kMaxMemoryCounters + 1;
    std::size_t n = 0;
    for (const timeline::MemoryRecord& record : timeline_.memory) {
      const std::pair id{record.process, record.event.allocation};
      if (record.action == timeline::MemoryAction::alloc) {
        live[id] = record.event.bytes;
        bytes[record.process] += record.event.bytes;
      } else if (record.action == timeline::MemoryAction::free) {
        const auto it = live.find(id);
        if (it == live.end()) continue;
        bytes[record.process] -= it->second;
        live.erase(it);
      } else {
        continue;
      }
      if (++n % every != 0) continue;
      begin("C", "allocated bytes", record.process, 0, record.time_ns);
      json_.key("args").begin_object().field("bytes", bytes[record.process]).end_object().end_object();
    }
  }

  const Timeline& timeline_;
  GzipFile& file_;
  std::string buffer_;
  JsonWriter json_;
  std::vector<std::uint32_t> pids_;
  std::vector<std::uint64_t> tids_;
};

}  // namespace

std::string write_trace(const Timeline& timeline, const std::string& path) {
  GzipFile file(path);
  Writer(timeline, file).run();
  std::string error = file.close();
  // A part of a trace, or nothing at all, would pass for one.
  if (!error.empty() && std::filesystem::is_regular_file(path)) unlink(path.c_str());
  return error;
}

}  // namespace ampprof::report
