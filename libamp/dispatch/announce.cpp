// Filling in the events. All of it is skipped when nobody listens.
#include "libamp/dispatch/announce.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/backend.h"

namespace amp {
namespace {

std::atomic<bool> counting{false};
std::atomic<bool> measured{false};
std::atomic<std::uint64_t> lost_to_zero{0}, lost_to_inf{0};
std::atomic<double> current_scale{1};

// What rounding lost in the storages written in this step, by their identity in AllocEvents: addresses are reused
// within a step. An entry goes when another op writes the storage.
struct Losses {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, RoundingLoss> of;
  std::uint32_t step = kNoStep;
};
Losses& losses() {
  static auto* instance = new Losses;
  return *instance;
}

void begin_counting() {
  measured = false;
  lost_to_zero = lost_to_inf = 0;
  counting = true;
}

void keep_losses(const Tensors& outputs) {
  if (!step_clock::sampled() || context().op_depth > 0) return;
  counting = false;
  auto& l = losses();
  const std::lock_guard lock(l.mutex);
  if (l.step != step_clock::current()) {
    l.of.clear();
    l.step = step_clock::current();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    const std::uint64_t storage = outputs[i].impl()->storage->allocation();
    if (storage == 0) continue;  // made before anybody listened
    if (i == 0 && measured) {
      l.of[storage] = {true, lost_to_zero, lost_to_inf};
    } else if (!outputs[i].impl()->is_view) {
      l.of.erase(storage);
    }
  }
}

RoundingLoss loss_in(const Tensor& tensor) {
  auto& l = losses();
  const std::lock_guard lock(l.mutex);
  const auto found = l.of.find(tensor.impl()->storage->allocation());
  return found == l.of.end() || l.step != step_clock::current() ? RoundingLoss{} : found->second;
}

StringId op_name_id(OpId op) {
  static const std::vector<StringId>* ids = [] {
    auto* list = new std::vector<StringId>;
    for (std::size_t i = 0; i < kOpCount; ++i) list->push_back(observe::intern(op_info(static_cast<OpId>(i)).name));
    return list;
  }();
  return (*ids)[static_cast<std::size_t>(op)];
}

// The type the body computes in: what its floating inputs meet in, unless dtype= says otherwise.
DType compute_dtype(const OpCall& call) {
  if (call.attributes.has("dtype")) return call.attributes.dtype("dtype", DType::float32);
  DType widest = DType::count_;
  for (const auto& t : call.inputs) {
    if (!t.defined()) continue;
    const bool weak = t.impl()->is_wrapped_number && call.inputs.size() > 1;
    if (weak || (widest != DType::count_ && is_floating(widest) && !is_floating(t.dtype()))) continue;
    if (widest == DType::count_ || !is_floating(widest) || size_of(t.dtype()) > size_of(widest)) widest = t.dtype();
  }
  return widest;
}

void fill_shapes(OpEvent& event, const OpCall& call) {
  std::size_t used = 0;
  for (const auto& t : call.inputs) {
    if (!t.defined()) continue;
    const auto ndim = static_cast<std::size_t>(t.dim());
    if (event.input_count == kMaxEventInputs || used + ndim > kMaxEventDims) return;
    event.input_ndims[event.input_count++] = static_cast<std::uint8_t>(ndim);
    for (const auto size : t.sizes())
      event.dims[used++] =
          static_cast<std::uint32_t>(std::min<std::int64_t>(size, std::numeric_limits<std::uint32_t>::max()));
  }
}

std::uint64_t distinct_elements(const Tensor& t) {
  std::uint64_t n = 1;
  for (int d = 0; d < t.dim(); ++d)
    if (t.strides()[d] != 0) n *= static_cast<std::uint64_t>(t.sizes()[d]);
  return n;
}

CastEvent cast_event(const Tensor& source, DType to, CastKind kind, OpId cause) {
  CastEvent event;
  event.step = step_clock::current();
  event.cause_op = static_cast<std::uint16_t>(cause);
  event.from = static_cast<std::uint8_t>(source.dtype());
  event.to = static_cast<std::uint8_t>(to);
  event.kind = static_cast<std::uint8_t>(kind);
  event.phase = static_cast<std::uint8_t>(context().phase);
  event.device = static_cast<std::uint8_t>(source.device().type);
  event.cause_name = op_name_id(cause);
  event.module_path = context().module_path;
  event.elements = static_cast<std::uint64_t>(source.numel());
  event.source_elements = distinct_elements(source);
  return event;
}

}  // namespace

bool counting_rounding() noexcept { return counting.load(std::memory_order_relaxed); }
void add_rounding_loss(std::uint64_t to_zero, std::uint64_t to_inf) noexcept {
  measured = true;
  lost_to_zero += to_zero;
  lost_to_inf += to_inf;
}

namespace announce {

void set_loss_scale(double scale) noexcept { current_scale = scale; }
double loss_scale() noexcept { return current_scale; }

void note_rounding(const Tensors& outputs) { keep_losses(outputs); }

OpScope::OpScope(const OpCall& call, const CastDecision& decision, Policy policy, const Before& before)
    : announced_(step_clock::recorded()) {
  if (step_clock::sampled() && context().op_depth == 0) begin_counting();
  if (!announced_) return;
  event_.step = step_clock::current();
  event_.op = static_cast<std::uint16_t>(call.op);
  event_.phase = static_cast<std::uint8_t>(context().phase);
  event_.rule = static_cast<std::uint8_t>(decision.rule);
  event_.reason = static_cast<std::uint8_t>(decision.reason);
  event_.compute_dtype = static_cast<std::uint8_t>(compute_dtype(call));
  event_.output_dtype =
      static_cast<std::uint8_t>(call.out.defined() ? call.out.dtype() : call.attributes.dtype("dtype", DType::count_));
  event_.policy = static_cast<std::uint8_t>(policy);
  for (const auto& t : call.inputs)
    if (t.defined()) {
      event_.device = static_cast<std::uint8_t>(t.device().type);
      break;
    }
  event_.composite = call.info().body == BodyKind::composite ? 1 : 0;
  fill_shapes(event_, call);
  for (std::size_t i = 0; i < before.count; ++i) event_.input_dtypes[i] = static_cast<std::uint8_t>(before.dtypes[i]);
  event_.op_name = op_name_id(call.op);
  event_.module_path = context().module_path;
  const Cost cost = cost_of(call);
  event_.flops = cost.flops;
  event_.bytes = cost.bytes;
  observe::notify([&](Observer& o) { o.begin_op(event_); });
}

OpScope::~OpScope() {
  if (context().op_depth == 0) counting = false;
  if (announced_) observe::notify([&](Observer& o) { o.end_op(event_); });
}

CastScope::CastScope(const Tensor& source, DType to, CastKind kind, OpId cause)
    : event_(cast_event(source, to, kind, cause)) {
  event_.bytes = event_.source_elements * size_of(source.dtype()) + event_.elements * size_of(to);
  if (step_clock::sampled() && context().op_depth == 0) begin_counting();
  if (step_clock::recorded()) observe::notify([&](Observer& o) { o.begin_cast(event_); });
}
CastScope::~CastScope() {
  if (step_clock::recorded()) observe::notify([&](Observer& o) { o.end_cast(event_); });
}

void cached_cast(const Tensor& source, DType to, OpId cause) {
  if (!step_clock::recorded()) return;
  CastEvent event = cast_event(source, to, CastKind::autocast, cause);
  event.cached = 1;
  observe::notify([&](Observer& o) { o.mark(event); });
}

void tensor_stats(const Tensor& tensor, StringId name, TensorRole role, OpId op, double scale) {
  if (tensor.is_sparse()) return tensor_stats(tensor.values(), name, role, op, scale);
  TensorStatEvent event;
  std::vector<std::uint64_t> counts;
  backend(tensor.device().type, "tensor_stats").tensor_stats(tensor, event, counts);
  event.step = step_clock::current();
  event.role = static_cast<std::uint8_t>(role);
  event.dtype = static_cast<std::uint8_t>(tensor.dtype());
  event.op = static_cast<std::uint16_t>(op);
  event.tensor_name = name;
  event.scale = scale;
  if (const RoundingLoss loss = loss_in(tensor); loss.measured) {
    event.rounding_measured = 1;
    event.rounded_to_zero = loss.to_zero;
    event.rounded_to_inf = loss.to_inf;
  }
  observe::notify([&](Observer& o) { o.mark(event, counts); });
}

}  // namespace announce
}  // namespace amp
