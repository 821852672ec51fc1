// Scaled dot product attention, by blocks of queries: scores of a block against all keys, softmax, product with the
// values. The scores of a whole head are never in memory together, neither here nor for the backward pass, which
// computes them again from the saved logarithms of the sums (Dao et al., FlashAttention, 2022; the blocks here are rows
// only, since a row of scores fits in cache). Everything is float32 inside for half precision operands.
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/lanes.h"
#include "libamp/backend/cpu/tile_product.h"
#include "libamp/backend/cpu/vector_math.h"

namespace amp::cpu {
namespace {

constexpr std::int64_t kQueryBlock = 64;

struct AttentionShape {
  Shape batch_sizes;
  std::int64_t batch = 1, queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  double scale = 1;
};

// Operands [batch..., queries, width], [batch..., keys, width], [batch..., keys, value_width].
AttentionShape attention_shape(const OpCall& call, const Tensor& q, const Tensor& k, const Tensor& v) {
  AttentionShape s;
  const int dims = q.dim();
  bool fits = dims >= 2 && k.dim() == dims && v.dim() == dims && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  for (int d = 0; fits && d < dims - 2; ++d) {
    fits = q.size(d) == k.size(d) && k.size(d) == v.size(d);
    s.batch_sizes.push_back(q.size(d));
  }
  if (!fits)
    call.fail("query, key and value do not fit: got " + describe(q) + ", " + describe(k) + " and " + describe(v) +
              ", need [..., queries, width], [..., keys, width] and [..., keys, value width]");
  if (q.dtype() != k.dtype() || q.dtype() != v.dtype())
    call.fail("query, key and value must have the same dtype: got " + describe(q) + ", " + describe(k) + " and " +
              describe(v));
  s.batch = numel_of(s.batch_sizes);
  s.queries = q.size(-2);
  s.keys = k.size(-2);
  s.width = q.size(-1);
  s.value_width = v.size(-1);
  s.causal = call.attributes.flag("is_causal", false);
  s.scale = call.attributes.number("scale", 1);
  return s;
}

// Adds a row of the mask to scores: a number is added, false puts -infinity.
template <typename C>
class Mask {
 public:
  Mask(const OpCall& call, const Tensor& mask, const AttentionShape& s) : mask_(mask), batch_sizes_(s.batch_sizes) {
    if (!mask.defined()) return;
    Shape full = s.batch_sizes;
    full.push_back(s.queries);
    full.push_back(s.keys);
    if (mask.dim() > full.size() || !(broadcast_shapes(mask.sizes(), full, call.info().name) == full))
      call.fail("the mask does not broadcast to the scores: got " + describe(mask) + ", need " + to_string(full));
    for (int d = 0; d < full.size(); ++d) {
      const int own = d - (full.size() - mask.dim());
      strides_.push_back(own < 0 || mask.sizes()[own] == 1 ? 0 : mask.strides()[own]);
    }
  }
  void add_to(C* scores, std::int64_t batch, std::int64_t query, std::int64_t keys, C* buffer) const {
    if (!mask_.defined()) return;
    const int n = strides_.size();
    std::int64_t at = query * strides_[n - 2];
    for (int d = n - 3; d >= 0; --d) {
      at += batch % batch_sizes_[d] * strides_[d];
      batch /= batch_sizes_[d];
    }
    load_as<C>(mask_.raw(), mask_.dtype(), at, strides_[n - 1], keys, buffer);
    if (mask_.dtype() == DType::bool_)
      for (std::int64_t i = 0; i < keys; ++i)
        scores[i] = buffer[i] != C(0) ? scores[i] : -std::numeric_limits<C>::infinity();
    else
      for (std::int64_t i = 0; i < keys; ++i) scores[i] += buffer[i];
  }

 private:
  Tensor mask_;
  Shape batch_sizes_, strides_;
};

// One block of queries of one head.
struct Block {
  std::int64_t first, rows, keys;  // keys: how many of them the block's last query sees
  Block(const AttentionShape& s, std::int64_t index)
      : first(index * kQueryBlock), rows(std::min(kQueryBlock, s.queries - first)) {
    keys = s.causal ? std::min(s.keys, first + rows) : s.keys;
  }
};

// turned_k: the keys' transpose [width, keys] times the scale, made once a head.
template <typename C>
void block_scores(const AttentionShape& s, const Block& b, const Mask<C>& mask, std::int64_t batch, const C* q,
                  const C* turned_k, C* scores, C* mask_row) {
  tile_product<C>({q + b.first * s.width, b.rows, s.width, s.width, 1}, {turned_k, s.width, b.keys, s.keys, 1}, scores,
                  b.keys, false);
  for (std::int64_t r = 0; r < b.rows; ++r) {
    C* row = scores + r * b.keys;
    mask.add_to(row, batch, b.first + r, b.keys, mask_row);
    if (s.causal)
      for (std::int64_t i = b.first + r + 1; i < b.keys; ++i) row[i] = -std::numeric_limits<C>::infinity();
  }
}

// Softmax in place; returns the logarithm of the sum of exponentials. A row with nothing to see becomes zeros.
template <typename C>
C softmax_row(C* row, std::int64_t n) {
  const C top = lane_max(row, n);
  bool has_nan = false;
  if (top == -std::numeric_limits<C>::infinity())
    for (std::int64_t i = 0; i < n; ++i) has_nan |= row[i] != row[i];
  if (top == -std::numeric_limits<C>::infinity() && !has_nan) {
    std::fill_n(row, n, C(0));
    return top;
  }
  for (std::int64_t i = 0; i < n; ++i) row[i] = vector_exp(row[i] - top);
  const C sum = lane_sum<C>(n, [&](std::int64_t i) { return row[i]; });
  const C scale = C(1) / sum;
  for (std::int64_t j = 0; j < n; ++j) row[j] *= scale;
  return top + std::log(sum);
}

template <typename C>
void attend(const OpCall& call, const AttentionShape& s, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& out, const Tensor& log_sums) {
  const Mask<C> mask(call, call.has(3) ? call.in(3) : Tensor(), s);
  const std::int64_t blocks = (s.queries + kQueryBlock - 1) / kQueryBlock;
  parallel_for(s.batch * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Slices<C> qs(q, s.queries * s.width), ks(k, s.keys * s.width), vs(v, s.keys * s.value_width);
    const Workspace scores(static_cast<std::size_t>((kQueryBlock + 1) * s.keys) * sizeof(C), true);
    const Workspace wide(static_cast<std::size_t>(kQueryBlock * s.value_width) * sizeof(C), false);
    const Workspace turned(static_cast<std::size_t>(s.keys * s.width) * sizeof(C), true);
    std::int64_t turned_batch = -1;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t batch = item / blocks;
      const Block b(s, item % blocks);
      C* p = scores.data<C>();
      if (batch != turned_batch)
        transpose_tile<C>(ks.at(batch), s.width, s.keys, s.width, static_cast<C>(s.scale), turned.data<C>());
      turned_batch = batch;
      block_scores<C>(s, b, mask, batch, qs.at(batch), turned.data<C>(), p, p + kQueryBlock * s.keys);
      for (std::int64_t r = 0; r < b.rows; ++r)
        log_sums.data<C>()[batch * s.queries + b.first + r] = softmax_row<C>(p + r * b.keys, b.keys);
      const Piece<C> result(out, (batch * s.queries + b.first) * s.value_width, b.rows * s.value_width, wide.data<C>());
      tile_product<C>({p, b.rows, b.keys, b.keys, 1}, {vs.at(batch), b.keys, s.value_width, s.value_width, 1},
                      result.data(), s.value_width, false);
      result.store();
    }
  });
}

struct Saved {
  Tensor grad, q, k, v, out, log_sums;
};

// The gradients of one head, added up over its blocks in order.
template <typename C>
void head_backward(const AttentionShape& s, const Saved& t, const Mask<C>& mask, std::int64_t batch, Slices<C>* slices,
                   C* p, C* dp, C* turned_k, C* turned_v, C* gq, C* gk, C* gv) {
  const C *g = slices[0].at(batch), *q = slices[1].at(batch), *k = slices[2].at(batch), *v = slices[3].at(batch),
          *o = slices[4].at(batch), *log_sums = t.log_sums.data<C>() + batch * s.queries;
  transpose_tile<C>(k, s.width, s.keys, s.width, static_cast<C>(s.scale), turned_k);
  transpose_tile<C>(v, s.value_width, s.keys, s.value_width, C(1), turned_v);
  std::fill_n(gk, s.keys * s.width, C(0));
  std::fill_n(gv, s.keys * s.value_width, C(0));
  for (std::int64_t index = 0; index * kQueryBlock < s.queries; ++index) {
    const Block b(s, index);
    block_scores<C>(s, b, mask, batch, q, turned_k, p, dp);
    const C* g_block = g + b.first * s.value_width;
    for (std::int64_t r = 0; r < b.rows; ++r) {
      C* row = p + r * b.keys;
      const C log_sum = log_sums[b.first + r];
      if (log_sum == -std::numeric_limits<C>::infinity())
        std::fill_n(row, b.keys, C(0));
      else
        for (std::int64_t i = 0; i < b.keys; ++i) row[i] = vector_exp(row[i] - log_sum);
    }
    tile_product<C>({p, b.keys, b.rows, 1, b.keys}, {g_block, b.rows, s.value_width, s.value_width, 1}, gv,
                    s.value_width, true);
    tile_product<C>({g_block, b.rows, s.value_width, s.value_width, 1}, {turned_v, s.value_width, b.keys, s.keys, 1},
                    dp, b.keys, false);
    const C scale = static_cast<C>(s.scale);
    for (std::int64_t r = 0; r < b.rows; ++r) {
      const C *gr = g_block + r * s.value_width, *orow = o + (b.first + r) * s.value_width;
      const C along = lane_sum<C>(s.value_width, [&](std::int64_t i) { return gr[i] * orow[i]; });
      C *pr = p + r * b.keys, *dr = dp + r * b.keys;
      for (std::int64_t i = 0; i < b.keys; ++i) dr[i] = pr[i] * (dr[i] - along) * scale;
    }
    tile_product<C>({dp, b.rows, b.keys, b.keys, 1}, {k, b.keys, s.width, s.width, 1}, gq + b.first * s.width, s.width,
                    false);
    tile_product<C>({dp, b.keys, b.rows, 1, b.keys}, {q + b.first * s.width, b.rows, s.width, s.width, 1}, gk, s.width,
                    true);
  }
}

template <typename C>
void attend_backward(const OpCall& call, const AttentionShape& s, const Saved& t, const Tensor& gq, const Tensor& gk,
                     const Tensor& gv) {
  const Mask<C> mask(call, call.has(6) ? call.in(6) : Tensor(), s);
  const std::int64_t nq = s.queries * s.width, nk = s.keys * s.width, nv = s.keys * s.value_width,
                     no = s.queries * s.value_width;
  const bool narrow = gq.dtype() != kDTypeOf<C>;
  parallel_for(s.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    Slices<C> slices[] = {{t.grad, no}, {t.q, nq}, {t.k, nk}, {t.v, nv}, {t.out, no}};
    const Workspace scores(static_cast<std::size_t>(2 * kQueryBlock * std::max<std::int64_t>(1, s.keys)) * sizeof(C),
                           true);
    const Workspace wide(narrow ? static_cast<std::size_t>(nq + nk + nv) * sizeof(C) : 0, false);
    const Workspace turned(static_cast<std::size_t>(nk + nv) * sizeof(C), true);
    for (std::int64_t batch = begin; batch < end; ++batch) {
      C* memory = wide.data<C>();
      const Piece<C> q(gq, batch * nq, nq, memory), k(gk, batch * nk, nk, memory + nq),
          v(gv, batch * nv, nv, memory + nq + nk);
      head_backward<C>(s, t, mask, batch, slices, scores.data<C>(), scores.data<C>() + kQueryBlock * s.keys,
                       turned.data<C>(), turned.data<C>() + nk, q.data(), k.data(), v.data());
      q.store(), k.store(), v.store();
    }
  });
}

}  // namespace

// Inputs: query, key, value, mask or none. Outputs: the result, and for each query the logarithm of its sum of
// exponentials, which the backward pass needs.
Tensors attention(const OpCall& call) {
  const Tensor q = dense(call.in(0)), k = dense(call.in(1)), v = dense(call.in(2));
  const AttentionShape s = attention_shape(call, q, k, v);
  Shape sizes = s.batch_sizes;
  sizes.push_back(s.queries);
  const Tensor log_sums = empty(sizes, q.dtype() == DType::float64 ? DType::float64 : DType::float32);
  sizes.push_back(s.value_width);
  const Tensor out = make_output(call, sizes, q.dtype());
  with_float_type(call, q.dtype(), [&]<typename C>(TypeTag<C>) { attend<C>(call, s, q, k, v, out, log_sums); });
  return {out, log_sums};
}

// Inputs: gradient, query, key, value, result, log_sums, mask or none. Outputs: gradients of query, key, value.
Tensors attention_backward(const OpCall& call) {
  const Saved t{dense(call.in(0)), dense(call.in(1)), dense(call.in(2)), dense(call.in(3)), call.in(4), call.in(5)};
  const AttentionShape s = attention_shape(call, t.q, t.k, t.v);
  const Tensor gq = empty(t.q.sizes(), t.q.dtype()), gk = empty(t.k.sizes(), t.k.dtype()),
               gv = empty(t.v.sizes(), t.v.dtype());
  with_float_type(call, t.q.dtype(), [&]<typename C>(TypeTag<C>) { attend_backward<C>(call, s, t, gq, gk, gv); });
  return {gq, gk, gv};
}

}  // namespace amp::cpu
