// Elements in other places: views, joins and index ops put together.
#include "libamp/ops/arrange.h"

#include <algorithm>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Tensor run1(OpId op, Tensors inputs, Attributes attributes) {
  return run_op1({op, std::move(inputs), std::move(attributes), {}});
}
Tensor index_tensor(const std::vector<std::int64_t>& values) {
  return from_memory(values.data(), {static_cast<std::int64_t>(values.size())}, DType::int64);
}

// The list of what is joined stays short, so that too large a result fails as any other that finds no memory.
Tensor repeat_one(const Tensor& input, std::int64_t times, int dim) {
  constexpr std::int64_t kAtOnce = 1024;
  if (times <= kAtOnce) return cat(Tensors(static_cast<std::size_t>(times), input), dim);
  const Tensor most = repeat_one(cat(Tensors(kAtOnce, input), dim), times / kAtOnce, dim);
  return times % kAtOnce == 0 ? most : cat({most, repeat_one(input, times % kAtOnce, dim)}, dim);
}

Tensor roll_one(const Tensor& input, std::int64_t shift, std::int64_t dim) {
  const std::int64_t n = input.size(dim);
  if (n == 0) return input;
  const std::int64_t moved = (shift % n + n) % n;
  if (moved == 0) return input;
  return cat({narrow(input, dim, n - moved, moved), narrow(input, dim, 0, n - moved)}, dim);
}

}  // namespace

Tensor flip(const Tensor& input, const Shape& dims) { return run1(OpId::flip, {input}, {{"dims", dims}}); }

Tensor roll(const Tensor& input, const Shape& shifts, const Shape& dims) {
  if (dims.empty()) {
    if (shifts.size() != 1)
      fail(ErrorCode::runtime, "roll", "needs one shift where no dims are given: got " + to_string(shifts));
    return reshape(roll_one(reshape(input, {-1}), shifts[0], 0), input.sizes());
  }
  if (shifts.size() != dims.size())
    fail(ErrorCode::runtime, "roll",
         "needs one shift for each dim: got " + to_string(shifts) + " and " + to_string(dims));
  Tensor rolled = input;
  for (int i = 0; i < dims.size(); ++i) rolled = roll_one(rolled, shifts[i], dims[i]);
  return rolled.is_same(input) ? clone(input) : rolled;
}

Tensor repeat(const Tensor& input, const Shape& repeats) {
  if (repeats.size() < input.dim())
    fail(ErrorCode::runtime, "repeat",
         "needs a number for each dim: got " + to_string(repeats) + " for " + describe(input));
  Shape sizes;
  for (int d = 0; d < repeats.size() - input.dim(); ++d) sizes.push_back(1);
  for (const auto n : input.sizes()) sizes.push_back(n);
  Tensor result = reshape(input, sizes);
  Shape repeated;
  for (int d = 0; d < sizes.size(); ++d) {
    std::int64_t size = 0;
    if (__builtin_mul_overflow(sizes[d], repeats[d], &size))
      fail(ErrorCode::runtime, "repeat",
           "the result is too large: got " + to_string(repeats) + " of " + describe(input));
    repeated.push_back(std::max<std::int64_t>(size, 0));
  }
  numel_of(repeated);  // throws for too many elements
  for (int d = repeats.size() - 1; d >= 0; --d) {
    if (repeats[d] < 0) fail(ErrorCode::runtime, "repeat", "needs numbers from 0: got " + to_string(repeats));
    if (repeats[d] == 0)
      result = narrow(result, d, 0, 0);
    else if (repeats[d] > 1)
      result = repeat_one(result, repeats[d], d);
  }
  return result.impl()->storage == input.impl()->storage ? clone(result) : result;
}
Tensor tile(const Tensor& input, const Shape& dims) {
  Shape repeats;
  for (int d = dims.size(); d < input.dim(); ++d) repeats.push_back(1);
  for (const auto n : dims) repeats.push_back(n);
  return repeat(input, repeats);
}

Tensor repeat_interleave(const Tensor& input, std::int64_t repeats, std::optional<std::int64_t> dim) {
  const std::int64_t n = dim ? input.size(*dim) : input.numel();
  return repeat_interleave(input, full({n}, static_cast<double>(repeats), {.dtype = DType::int64}), dim);
}
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<std::int64_t> dim) {
  const Tensor source = dim ? input : reshape(input, {-1});
  const std::int64_t at = dim.value_or(0), n = source.size(at);
  const std::vector<double> counts = repeats.to_vector();
  if (counts.size() != 1 && static_cast<std::int64_t>(counts.size()) != n)
    fail(ErrorCode::runtime, "repeat_interleave",
         "needs one number, or one for each slice: got " + describe(repeats) + " for " + describe(input));
  std::vector<std::int64_t> slices;
  for (std::int64_t i = 0; i < n; ++i) {
    const double count = counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (count < 0) fail(ErrorCode::runtime, "repeat_interleave", "needs numbers from 0: got " + std::to_string(count));
    slices.insert(slices.end(), static_cast<std::size_t>(count), i);
  }
  return index_select(source, at, index_tensor(slices));
}

Tensors meshgrid(const Tensors& tensors, std::string_view indexing) {
  if (indexing != "ij" && indexing != "xy")
    fail(ErrorCode::runtime, "meshgrid", "indexing: got '" + std::string(indexing) + "', need 'ij' or 'xy'");
  Shape sizes;
  for (const Tensor& t : tensors) {
    if (t.dim() > 1) fail(ErrorCode::runtime, "meshgrid", "needs 1-dim tensors: got " + describe(t));
    sizes.push_back(t.numel());
  }
  Tensors grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Shape own;
    for (int d = 0; d < sizes.size(); ++d) own.push_back(d == static_cast<int>(i) ? sizes[d] : 1);
    const Tensor grid = expand(reshape(tensors[i], own), sizes);
    grids.push_back(indexing == "xy" && tensors.size() > 1 ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

Tensor rot90(const Tensor& input, std::int64_t k, const Shape& dims) {
  if (dims.size() != 2) fail(ErrorCode::runtime, "rot90", "needs two dims: got " + to_string(dims));
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(input, {dims[1]}), dims[0], dims[1]);
    case 2:
      return flip(input, dims);
    case 3:
      return transpose(flip(input, {dims[0]}), dims[0], dims[1]);
    default:
      return clone(input);
  }
}

Tensor diagonal(const Tensor& input, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const int a = wrap_dim(dim1, input.dim(), "diagonal"), b = wrap_dim(dim2, input.dim(), "diagonal");
  if (a == b)
    fail(ErrorCode::runtime, "diagonal",
         "the two dims must differ: got " + std::to_string(dim1) + " and " + std::to_string(dim2));
  const std::int64_t rows = input.size(a), columns = input.size(b);
  const std::int64_t length =
      std::max<std::int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Shape sizes, strides;
  for (int d = 0; d < input.dim(); ++d)
    if (d != a && d != b) {
      sizes.push_back(input.sizes()[d]);
      strides.push_back(input.strides()[d]);
    }
  sizes.push_back(length);
  strides.push_back(input.strides()[a] + input.strides()[b]);
  std::int64_t start = input.impl()->offset;
  if (length > 0) start += offset >= 0 ? offset * input.strides()[b] : -offset * input.strides()[a];
  return run1(OpId::diagonal, {input},
              {{"size", sizes},
               {"stride", strides},
               {"storage_offset", start},
               {"offset", offset},
               {"dim1", std::int64_t{a}},
               {"dim2", std::int64_t{b}}});
}
Tensor diag_embed(const Tensor& input, std::int64_t offset) {
  if (input.dim() < 1) fail(ErrorCode::runtime, "diag_embed", "needs at least one dim: got " + describe(input));
  Shape sizes = input.sizes();
  const std::int64_t n = input.size(-1) + (offset < 0 ? -offset : offset);
  sizes[sizes.size() - 1] = n;
  sizes.push_back(n);
  return run1(OpId::diagonal_backward, {input},
              {{"offset", offset},
               {"dim1", std::int64_t{sizes.size() - 2}},
               {"dim2", std::int64_t{sizes.size() - 1}},
               {"input_sizes", sizes}});
}
Tensor diag(const Tensor& input, std::int64_t diagonal) {
  if (input.dim() == 1) return diag_embed(input, diagonal);
  if (input.dim() == 2) return clone(amp::diagonal(input, diagonal));
  fail(ErrorCode::runtime, "diag", "needs a vector or a matrix: got " + describe(input));
}
Tensor trace(const Tensor& input) {
  if (input.dim() != 2) fail(ErrorCode::runtime, "trace", "needs a matrix: got " + describe(input));
  return run1(OpId::trace, {input}, {});
}

namespace {

Tensor edge_pad(OpId op, int spatial, const Tensor& input, const Shape& padding) {
  const std::string_view where = op_info(op).name;
  if (padding.size() != 2 * spatial || (input.dim() != spatial + 1 && input.dim() != spatial + 2))
    fail(ErrorCode::runtime, where,
         "needs " + std::to_string(2 * spatial) + " numbers and an input of " + std::to_string(spatial + 1) + " or " +
             std::to_string(spatial + 2) + " dims: got " + to_string(padding) + " and " + describe(input));
  return run1(op, {input}, {{"pad", padding}});
}
// How many dims the pads reach; one that would not fit is said by the op.
int padded_dims(const Tensor& input, const Shape& pad, std::string_view mode) {
  const int spatial = pad.size() / 2;
  if (pad.size() % 2 != 0 || spatial < 1 || spatial > 3)
    fail(ErrorCode::not_implemented, "pad",
         "mode '" + std::string(mode) + "' pads one to three dims: got " + to_string(pad) + " for " + describe(input));
  return spatial;
}
Tensor circular_pad(const Tensor& input, const Shape& pad) {
  Tensor result = input;
  for (int i = 0; i < pad.size() / 2; ++i) {
    const int d = input.dim() - 1 - i;
    const std::int64_t n = input.size(d);
    if (pad[2 * i] < 0 || pad[2 * i + 1] < 0 || pad[2 * i] > n || pad[2 * i + 1] > n)
      fail(ErrorCode::runtime, "pad",
           "circular padding goes round at most once: got " + to_string(pad) + " for " + describe(input));
    result = cat({narrow(result, d, n - pad[2 * i], pad[2 * i]), result, narrow(result, d, 0, pad[2 * i + 1])}, d);
  }
  return result;
}

}  // namespace

Tensor constant_pad_nd(const Tensor& input, const Shape& pad, double value) {
  return run1(OpId::constant_pad_nd, {input}, {{"pad", pad}, {"value", value}});
}
Tensor reflection_pad1d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::reflection_pad1d, 1, input, padding);
}
Tensor reflection_pad2d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::reflection_pad2d, 2, input, padding);
}
Tensor reflection_pad3d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::reflection_pad3d, 3, input, padding);
}
Tensor replication_pad1d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::replication_pad1d, 1, input, padding);
}
Tensor replication_pad2d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::replication_pad2d, 2, input, padding);
}
Tensor replication_pad3d(const Tensor& input, const Shape& padding) {
  return edge_pad(OpId::replication_pad3d, 3, input, padding);
}

Tensor pad(const Tensor& input, const Shape& pad, std::string_view mode, double value) {
  if (mode == "constant") return constant_pad_nd(input, pad, value);
  constexpr OpId kReflection[] = {OpId::reflection_pad1d, OpId::reflection_pad2d, OpId::reflection_pad3d};
  constexpr OpId kReplication[] = {OpId::replication_pad1d, OpId::replication_pad2d, OpId::replication_pad3d};
  const int spatial = padded_dims(input, pad, mode);
  if (mode == "reflect") return edge_pad(kReflection[spatial - 1], spatial, input, pad);
  if (mode == "replicate") return edge_pad(kReplication[spatial - 1], spatial, input, pad);
  if (mode == "circular") return circular_pad(input, pad);
  fail(ErrorCode::not_implemented, "pad",
       "unknown mode: got '" + std::string(mode) + "', need constant, reflect, replicate or circular");
}

namespace {

// Positions in a padded plane that the windows read, [kernel, positions] in a row; and the number of positions.
struct WindowIndex {
  Tensor index;
  std::int64_t kernel, positions;
};
WindowIndex window_index(const Shape& plane, const Shape& kernel, const Shape& dilation, const Shape& stride,
                         const char* where) {
  std::int64_t out[2];
  for (int d = 0; d < 2; ++d) {
    const std::int64_t room = plane[d] - dilation[d] * (kernel[d] - 1) - 1;
    if (room < 0 || stride[d] <= 0)
      fail(ErrorCode::runtime, where,
           "the window does not fit: got kernel " + to_string(kernel) + " for a padded plane " + to_string(plane));
    out[d] = room / stride[d] + 1;
  }
  std::vector<std::int64_t> index;
  for (std::int64_t kh = 0; kh < kernel[0]; ++kh)
    for (std::int64_t kw = 0; kw < kernel[1]; ++kw)
      for (std::int64_t oh = 0; oh < out[0]; ++oh)
        for (std::int64_t ow = 0; ow < out[1]; ++ow)
          index.push_back((oh * stride[0] + kh * dilation[0]) * plane[1] + ow * stride[1] + kw * dilation[1]);
  return {index_tensor(index), kernel[0] * kernel[1], out[0] * out[1]};
}

}  // namespace

Tensor unfold(const Tensor& input, const SizeList& kernel_size, const SizeList& dilation, const SizeList& padding,
              const SizeList& stride) {
  if (input.dim() != 4)
    fail(ErrorCode::runtime, "unfold", "needs [batch, channels, height, width]: got " + describe(input));
  const Shape around = padding.expand(2, "unfold");
  const Tensor padded = constant_pad_nd(input, {around[1], around[1], around[0], around[0]});
  const WindowIndex w = window_index({padded.size(2), padded.size(3)}, kernel_size.expand(2, "unfold"),
                                     dilation.expand(2, "unfold"), stride.expand(2, "unfold"), "unfold");
  const Tensor columns = index_select(flatten(padded, 2), 2, w.index);
  return reshape(columns, {input.size(0), input.size(1) * w.kernel, w.positions});
}
Tensor fold(const Tensor& input, const SizeList& output_size, const SizeList& kernel_size, const SizeList& dilation,
            const SizeList& padding, const SizeList& stride) {
  const Shape out = output_size.expand(2, "fold"), around = padding.expand(2, "fold");
  const Shape plane{out[0] + 2 * around[0], out[1] + 2 * around[1]};
  const WindowIndex w =
      window_index(plane, kernel_size.expand(2, "fold"), dilation.expand(2, "fold"), stride.expand(2, "fold"), "fold");
  if (input.dim() != 3 || input.size(1) % w.kernel != 0 || input.size(2) != w.positions)
    fail(ErrorCode::runtime, "fold",
         "needs [batch, channels * " + std::to_string(w.kernel) + ", " + std::to_string(w.positions) + "]: got " +
             describe(input));
  const std::int64_t batch = input.size(0), channels = input.size(1) / w.kernel;
  const Tensor zero = zeros({batch, channels, plane[0] * plane[1]}, {.dtype = input.dtype()});
  const Tensor sums = index_add(zero, 2, w.index, reshape(input, {batch, channels, w.kernel * w.positions}));
  return constant_pad_nd(reshape(sums, {batch, channels, plane[0], plane[1]}),
                         {-around[1], -around[1], -around[0], -around[0]});
}

Tensor pixel_shuffle(const Tensor& input, std::int64_t upscale_factor) {
  const std::int64_t r = upscale_factor;
  if (input.dim() < 3 || r < 1 || input.size(-3) % (r * r) != 0)
    fail(ErrorCode::runtime, "pixel_shuffle",
         "needs [..., channels, height, width] with a multiple of " + std::to_string(r * r) + " channels: got " +
             describe(input));
  const std::int64_t c = input.size(-3) / (r * r), h = input.size(-2), w = input.size(-1);
  Shape out;
  for (int d = 0; d < input.dim() - 3; ++d) out.push_back(input.size(d));
  for (const std::int64_t n : {c, h * r, w * r}) out.push_back(n);
  return reshape(permute(reshape(input, {-1, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}), out);
}
Tensor pixel_unshuffle(const Tensor& input, std::int64_t downscale_factor) {
  const std::int64_t r = downscale_factor;
  if (input.dim() < 3 || r < 1 || input.size(-2) % r != 0 || input.size(-1) % r != 0)
    fail(ErrorCode::runtime, "pixel_unshuffle",
         "needs [..., channels, height, width] with sizes that are multiples of " + std::to_string(r) + ": got " +
             describe(input));
  const std::int64_t c = input.size(-3), h = input.size(-2) / r, w = input.size(-1) / r;
  Shape out;
  for (int d = 0; d < input.dim() - 3; ++d) out.push_back(input.size(d));
  for (const std::int64_t n : {c * r * r, h, w}) out.push_back(n);
  return reshape(permute(reshape(input, {-1, c, h, r, w, r}), {0, 1, 3, 5, 2, 4}), out);
}

Tensor take(const Tensor& input, const Tensor& index) {
  return reshape(amp::index(reshape(input, {-1}), {reshape(index, {-1})}), index.sizes());
}
Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<std::int64_t> dim) {
  if (!dim) return gather(reshape(input, {-1}), 0, reshape(indices, {-1}));
  if (input.dim() != indices.dim())
    fail(ErrorCode::runtime, "take_along_dim",
         "needs as many dims of both: got " + describe(input) + " and " + describe(indices));
  const int at = wrap_dim(*dim, input.dim(), "take_along_dim");
  Shape in = input.sizes(), by = indices.sizes();
  for (int d = 0; d < input.dim(); ++d)
    if (d != at) in[d] = by[d] = std::max(in[d], by[d]);
  return gather(expand(input, in), at, expand(indices, by));
}
Tensor index_fill(const Tensor& input, std::int64_t dim, const Tensor& index, double value) {
  Shape sizes = input.sizes();
  const int at = wrap_dim(dim, input.dim(), "index_fill");
  if (input.dim() > 0) sizes[at] = index.numel();
  const Tensor values = full({}, value, {.dtype = input.dtype()});
  return index_copy(input, dim, reshape(index, {-1}), expand(values, sizes));
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool right) {
  return run1(OpId::searchsorted, {sorted_sequence, values}, {{"right", right}});
}
Tensor bucketize(const Tensor& input, const Tensor& boundaries, bool right) {
  if (boundaries.dim() != 1)
    fail(ErrorCode::runtime, "bucketize", "needs a 1-dim list of boundaries: got " + describe(boundaries));
  return searchsorted(boundaries, input, right);
}

}  // namespace amp
