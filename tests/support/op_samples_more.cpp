// Sample calls of the rest: what puts elements elsewhere, padding, windows off the grid, less common pointwise
// functions and losses, and the ops that gradients are made of.
#include "tests/support/op_sample_row.h"

namespace amp::test {
namespace {

Tensor lengths(std::initializer_list<double> values) { return tensor(values, {.dtype = DType::int64}); }
Tensor run_with(OpId op, const Tensors& inputs, Attributes attributes) {
  return run_op1({op, inputs, std::move(attributes), {}});
}
// Positions of maxima in planes of 4 x 4, as pooling gives them.
Tensor positions(const Tensor& index) { return index.to(DType::int32); }
Tensor overwritten(const Tensor& by) {
  const Tensor target = zeros({3, 4}, {.dtype = by.dtype()});
  target.copy_(by);
  return target;
}

std::vector<OpSample> pointwise() {
  return {
      AMP_SAMPLE_METHOD(erfc, erfc(a[0]), a[0].erfc(), any({3, 4})),
      AMP_SAMPLE_METHOD(exp2, exp2(a[0]), a[0].exp2(), any({3, 4})),
      AMP_SAMPLE_METHOD(asinh, asinh(a[0]), a[0].asinh(), any({3, 4})),
      AMP_SAMPLE(acosh, acosh(a[0] + 2.0), positive({3, 4})),
      AMP_SAMPLE_METHOD(atanh, atanh(a[0]), a[0].atanh(), unit({3, 4})),
      AMP_SAMPLE(logaddexp, logaddexp(a[0], a[1]), any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(remainder, remainder(a[0], a[1]), a[0].remainder(a[1]), any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(fmod, fmod(a[0], a[1]), a[0].fmod(a[1]), any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(floor_divide, floor_divide(a[0], a[1]), a[0].floor_divide(a[1]), any({3, 4}), any({4})),
      AMP_SAMPLE(lerp, lerp(a[0], a[1], a[2]), any({3, 4}), any({4}), any({3, 1})),
      AMP_SAMPLE_METHOD(lerp, lerp(a[0], a[1], 0.3), a[0].lerp(a[1], 0.3), any({3, 4}), any({4})),
      AMP_SAMPLE(fake_quantize_per_tensor_affine, fake_quantize_per_tensor_affine(a[0], 0.1, 2, -8, 7), any({3, 4})),
      AMP_SAMPLE(bitwise_and, bitwise_and(a[0], a[1]), index_below(9, {3, 4}), index_below(9, {4})),
      AMP_SAMPLE(bitwise_or, bitwise_or(a[0], a[1]), index_below(9, {3, 4}), index_below(9, {4})),
      AMP_SAMPLE(bitwise_xor, bitwise_xor(a[0], a[1]), index_below(9, {3, 4}), index_below(9, {4})),
      AMP_SAMPLE(bitwise_not, bitwise_not(a[0]), index_below(9, {3, 4})),
  };
}

std::vector<OpSample> scans_and_places() {
  return {
      AMP_SAMPLE_METHOD(cummax, cummax(a[0], 1), a[0].cummax(1), any({3, 4})),
      AMP_SAMPLE_METHOD(cummin, cummin(a[0], 0), a[0].cummin(0), any({3, 4})),
      AMP_SAMPLE_METHOD(logcumsumexp, logcumsumexp(a[0], 1), a[0].logcumsumexp(1), any({3, 4})),
      AMP_SAMPLE(kthvalue, kthvalue(a[0], 2, 1, true), any({3, 4})),
      AMP_SAMPLE_METHOD(median, median(a[0], 1), a[0].median(1), any({3, 4})),
      AMP_SAMPLE(median, median(a[0]), any({3, 5})),
      AMP_SAMPLE(nanmedian, nanmedian(a[0], 0, true), any({3, 4})),
      AMP_SAMPLE(quantile, quantile(a[0], 0.4, 1), any({3, 4})),
      AMP_SAMPLE(quantile, quantile(a[0], 0.7, {}, true, "midpoint"), any({3, 4})),
      AMP_SAMPLE(nanquantile, nanquantile(a[0], 0.3, 0), any({4, 3})),
      AMP_SAMPLE(searchsorted, searchsorted(sort(a[0]).values, a[1]), any({5}), any({3, 2})),
      AMP_SAMPLE_METHOD(diagonal, diagonal(a[0], 1, 0, 2), a[0].diagonal(1, 0, 2), any({3, 2, 4})),
      AMP_SAMPLE(diagonal_backward, diag_embed(a[0], -1), any({2, 3})),
      AMP_SAMPLE_METHOD(trace, trace(a[0]), a[0].trace(), any({3, 4})),
      AMP_SAMPLE_METHOD(flip, flip(a[0], {0, 2}), a[0].flip({0, 2}), any({3, 2, 4})),
      AMP_SAMPLE(constant_pad_nd, pad(a[0], {1, -1, 0, 2}, "constant", 0.5), any({3, 4})),
      AMP_SAMPLE(reflection_pad1d, reflection_pad1d(a[0], {2, 1}), any({1, 2, 4})),
      AMP_SAMPLE(reflection_pad2d, reflection_pad2d(a[0], {1, 2, 0, 1}), any({1, 2, 3, 4})),
      AMP_SAMPLE(reflection_pad3d, reflection_pad3d(a[0], {1, 0, 1, 1, 0, 1}), any({1, 1, 2, 3, 2})),
      AMP_SAMPLE(replication_pad1d, replication_pad1d(a[0], {2, 1}), any({2, 4})),
      AMP_SAMPLE(replication_pad2d, replication_pad2d(a[0], {1, 2, 0, 1}), any({1, 2, 3, 4})),
      AMP_SAMPLE(replication_pad3d, replication_pad3d(a[0], {1, 0, 1, 1, 0, 2}), any({1, 1, 2, 3, 2})),
      AMP_SAMPLE(copy_, overwritten(a[0]), any({4})),
  };
}

std::vector<OpSample> windows_and_images() {
  return {
      AMP_SAMPLE(adaptive_max_pool2d, adaptive_max_pool2d(a[0], {3, 2}), any({1, 2, 6, 5})),
      AMP_SAMPLE(adaptive_max_pool3d, adaptive_max_pool3d(a[0], 2), any({1, 1, 4, 3, 3})),
      AMP_SAMPLE(fractional_max_pool2d, fractional_max_pool2d(a[0], 2, {3, 2}, a[1]), any({1, 2, 6, 5}),
                 fixed(probability({1, 2, 2}))),
      AMP_SAMPLE(fractional_max_pool3d, fractional_max_pool3d(a[0], 2, 2, a[1]), any({1, 1, 4, 5, 4}),
                 fixed(probability({1, 1, 3}))),
      AMP_SAMPLE(max_unpool2d, max_unpool2d(a[0], a[1], 2), any({1, 2, 2, 2}), index_below(16, {1, 2, 2, 2})),
      AMP_SAMPLE(max_unpool3d, max_unpool3d(a[0], a[1], 2), any({1, 1, 2, 2, 2}), index_below(64, {1, 1, 2, 2, 2})),
      AMP_SAMPLE(conv_tbc, conv_tbc(a[0], a[1], a[2], 1), any({5, 2, 4}), any({3, 4, 2}), any({2})),
      AMP_SAMPLE(addmm_activation, addmm_activation(a[0], a[1], a[2]), any({4, 5}), any({4, 8}), any({8, 5})),
      AMP_SAMPLE(addmm_activation, addmm_activation(a[0], a[1], a[2], 1, 1, true), any({5}), any({4, 8}), any({8, 5})),
      AMP_SAMPLE(upsample_nearest_exact1d, interpolate(a[0], 7, "nearest-exact"), any({1, 2, 4})),
      AMP_SAMPLE(upsample_nearest_exact2d, interpolate(a[0], {6, 5}, "nearest-exact"), any({1, 2, 4, 3})),
      AMP_SAMPLE(upsample_nearest_exact3d, interpolate(a[0], {3, 4, 5}, "nearest-exact"), any({1, 1, 2, 2, 3})),
      AMP_SAMPLE(upsample_bilinear2d_aa, interpolate(a[0], {3, 7}, "bilinear", false, true), any({1, 2, 6, 5})),
      AMP_SAMPLE(upsample_bicubic2d_aa, interpolate(a[0], {3, 7}, "bicubic", false, true), any({1, 2, 6, 5})),
      AMP_SAMPLE(ctc_loss, ctc_loss(a[0], a[1], lengths({6, 5}), lengths({2, 1})), any({6, 2, 4}),
                 index_below(4, {2, 2})),
      AMP_SAMPLE(ctc_loss_nll, run_with(OpId::ctc_loss_nll, {a[0], a[1], lengths({6, 5}), lengths({2, 1})}, {}),
                 any({6, 2, 4}), index_below(4, {2, 2})),
  };
}

// What gradients are made of, as gradients call it.
std::vector<OpSample> gradient_ops() {
  return {
      AMP_SAMPLE(narrow_backward,
                 run_with(OpId::narrow_backward, a,
                          {{"size", Shape{3, 4}}, {"dim", std::int64_t{1}}, {"start", std::int64_t{1}}}),
                 any({3, 2})),
      AMP_SAMPLE(max_pool_backward,
                 run_with(OpId::max_pool_backward, {a[0], positions(a[1])},
                          {{"input_sizes", Shape{1, 2, 4, 4}}, {"spatial", std::int64_t{2}}}),
                 any({1, 2, 2, 2}), index_below(16, {1, 2, 2, 2})),
      AMP_SAMPLE(max_pool_pick,
                 run_with(OpId::max_pool_pick, {a[0], positions(a[1])},
                          {{"input_sizes", Shape{1, 2, 4, 4}}, {"spatial", std::int64_t{2}}}),
                 any({1, 2, 4, 4}), index_below(16, {1, 2, 2, 2})),
      AMP_SAMPLE(avg_pool_backward,
                 run_with(OpId::avg_pool_backward, a,
                          {{"input_sizes", Shape{1, 2, 4, 4}},
                           {"spatial", std::int64_t{2}},
                           {"kernel_size", Shape{2, 2}},
                           {"stride", Shape{2, 2}},
                           {"padding", Shape{0, 0}}}),
                 any({1, 2, 2, 2})),
      AMP_SAMPLE(upsample_backward,
                 run_with(OpId::upsample_backward, a,
                          {{"input_sizes", Shape{1, 2, 3}},
                           {"output_size", Shape{5}},
                           {"interpolation", std::int64_t{1}},
                           {"align_corners", false}}),
                 any({1, 2, 5})),
      AMP_SAMPLE(
          nll_loss_backward,
          run_with(
              OpId::nll_loss_backward, {a[0], a[1], ones({}, {.dtype = a[0].dtype()})},
              {{"reduction", std::string("sum")}, {"ignore_index", std::int64_t{-100}}, {"input_sizes", Shape{5, 4}}}),
          any({}), index_below(4, {5})),
      AMP_SAMPLE(attention, run_with(OpId::attention, {a[0], a[1], a[2], {}}, {{"scale", 0.5}}), any({2, 4, 8}),
                 any({2, 6, 8}), any({2, 6, 8})),
  };
}

}  // namespace

std::vector<OpSample> more_samples() {
  std::vector<OpSample> all;
  for (auto* list : {&pointwise, &scans_and_places, &windows_and_images, &gradient_ops})
    for (OpSample& sample : list()) all.push_back(std::move(sample));
  return all;
}

}  // namespace amp::test
