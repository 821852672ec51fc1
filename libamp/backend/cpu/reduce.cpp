// Planning of reductions, and sum.
#include "libamp/backend/cpu/reduce.h"

namespace amp::cpu {

Reduction plan_reduction(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Shape dims = call.attributes.list("dim", {});
  const bool keepdim = call.attributes.flag("keepdim", false);
  Reduction plan;
  plan.reduced.assign(static_cast<std::size_t>(in.dim()), dims.empty());
  for (const auto dim : dims) {
    const int d = wrap_dim(dim, in.dim(), call.info().name);
    if (in.dim() == 0) continue;
    if (plan.reduced[static_cast<std::size_t>(d)]) call.fail("dim " + std::to_string(d) + " appears more than once");
    plan.reduced[static_cast<std::size_t>(d)] = true;
  }
  for (int d = 0; d < in.dim(); ++d) {
    if (plan.reduced[static_cast<std::size_t>(d)]) {
      plan.fold_sizes.push_back(in.sizes()[d]);
      plan.fold_strides.push_back(in.strides()[d]);
      plan.fold_count *= in.sizes()[d];
      if (keepdim) plan.out_sizes.push_back(1);
    } else {
      plan.kept_sizes.push_back(in.sizes()[d]);
      plan.kept_strides.push_back(in.strides()[d]);
      plan.out_sizes.push_back(in.sizes()[d]);
    }
  }
  return plan;
}

Tensor reduction_output(const OpCall& call, const Reduction& plan, DType dtype) {
  Tensor out = make_output(call, plan.out_sizes, dtype);
  if (!out.is_contiguous()) call.fail("out= must be contiguous");
  return out;
}

Tensors sum(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Reduction plan = plan_reduction(call);
  const DType own = is_floating(in.dtype()) ? in.dtype() : DType::int64;
  Tensor out = reduction_output(call, plan, call.attributes.dtype("dtype", own));
  with_compute_type(is_floating(in.dtype()) ? in.dtype() : out.dtype(), [&]<typename C>(TypeTag<C>) {
    if (!sum_rows_into<C>(out, in, plan, [](auto total) { return static_cast<C>(total); }))
      reduce_into<C>(out, in, plan, [] { return SumFolder<C>{}; });
  });
  return {out};
}

}  // namespace amp::cpu
