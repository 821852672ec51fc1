// Operands and steps of recurrent layers.
#include "libamp/backend/cpu/recurrent.h"

namespace amp::cpu {
namespace {

Steps steps_of(const OpCall& call, const Tensor& input, int batch_sizes_at) {
  Steps s;
  s.reverse = call.attributes.flag("reverse", false);
  const auto at = static_cast<std::size_t>(batch_sizes_at);
  if (batch_sizes_at < 0 || !call.has(at)) {
    if (input.dim() != 3) call.fail("input needs 3 dims: got " + describe(input) + ", need [steps, batch, features]");
    s.rows.assign(static_cast<std::size_t>(input.size(0)), input.size(1));
  } else {
    const Tensor sizes = dense(call.in(at));
    if (sizes.dtype() != DType::int64 || sizes.dim() != 1 || input.dim() != 2)
      call.fail("a packed input needs [rows, features] and int64 batch sizes: got " + describe(input) + " and " +
                describe(sizes));
    s.rows.assign(sizes.data<std::int64_t>(), sizes.data<std::int64_t>() + sizes.numel());
  }
  s.count = static_cast<std::int64_t>(s.rows.size());
  if (s.count == 0) call.fail("the sequence has no step: got " + describe(input) + ", need a length above 0");
  s.batch = s.rows[0];
  for (std::size_t t = 0; t < s.rows.size(); ++t) {
    if (s.rows[t] > s.rows[t > 0 ? t - 1 : 0] || s.rows[t] < 0)
      call.fail("batch sizes must not grow from step to step: got " + std::to_string(s.rows[t]) + " in step " +
                std::to_string(t));
    s.first.push_back(s.total);
    s.total += s.rows[t];
  }
  if (input.dim() == 2 && input.size(0) != s.total)
    call.fail("batch sizes do not sum to the rows of the packed input: got " + std::to_string(s.total) + ", need " +
              std::to_string(input.size(0)));
  return s;
}

void require(const OpCall& call, const Tensor& t, const Shape& sizes, DType dtype, const char* what) {
  if (!t.defined() || (t.sizes() == sizes && t.dtype() == dtype)) return;
  call.fail(std::string(what) + " does not fit: got " + describe(t) + ", need " + std::string(name(dtype)) +
            to_string(sizes));
}

}  // namespace

std::vector<Block> blocks_of(const Steps& steps) {
  constexpr std::int64_t kBlockRows = 1024;
  std::vector<Block> blocks;
  for (std::int64_t s = 0; s < steps.count;) {
    Block b{s, s, 0, 0};
    for (std::int64_t rows = 0; b.end < steps.count && rows < kBlockRows; ++b.end)
      rows += steps.rows[steps.time(b.end)];
    const std::int64_t earliest = std::min(steps.time(b.begin), steps.time(b.end - 1)),
                       latest = std::max(steps.time(b.begin), steps.time(b.end - 1));
    b.first = steps.first[earliest];
    b.last = steps.first[latest] + steps.rows[latest];
    blocks.push_back(b);
    s = b.end;
  }
  return blocks;
}

LayerOperands layer_operands(const OpCall& call, Recurrence kind, const LayerPlaces& places) {
  const auto optional_input = [&](int i) {
    return i >= 0 && call.has(static_cast<std::size_t>(i)) ? dense(call.in(static_cast<std::size_t>(i))) : Tensor();
  };
  LayerOperands o;
  o.input = dense(call.in(0));
  o.w_ih = dense(call.in(1));
  o.w_hh = dense(call.in(2));
  o.h0 = dense(call.in(3));
  if (kind == Recurrence::lstm) o.c0 = dense(call.in(4));
  o.b_ih = optional_input(places.b_ih);
  o.b_hh = optional_input(places.b_hh);
  o.w_hr = optional_input(places.w_hr);
  o.steps = steps_of(call, o.input, places.batch_sizes);
  o.dtype = o.input.dtype();
  if (o.w_ih.dim() != 2 || o.w_hh.dim() != 2)
    call.fail("weights need 2 dims: got " + describe(o.w_ih) + " and " + describe(o.w_hh));
  const std::int64_t gates = gates_of(kind);
  o.in = o.input.sizes().back();
  o.hidden = o.w_hh.size(0) / gates;
  o.out = o.w_hr.defined() ? o.w_hr.size(0) : o.hidden;
  require(call, o.w_ih, {gates * o.hidden, o.in}, o.dtype, "the input's weight");
  require(call, o.w_hh, {gates * o.hidden, o.out}, o.dtype, "the hidden state's weight");
  require(call, o.h0, {o.steps.batch, o.out}, o.dtype, "the initial hidden state");
  require(call, o.c0, {o.steps.batch, o.hidden}, o.dtype, "the initial cell state");
  require(call, o.b_ih, {gates * o.hidden}, o.dtype, "the input's bias");
  require(call, o.b_hh, {gates * o.hidden}, o.dtype, "the hidden state's bias");
  require(call, o.w_hr, {o.out, o.hidden}, o.dtype, "the projection");
  return o;
}

}  // namespace amp::cpu
