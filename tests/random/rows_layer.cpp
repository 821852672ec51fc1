// What layers are made of: norms, pools, attention, recurrent cells, resampling.
#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;
using Wants = std::vector<Want>;

bool last_dim_affine(const Shape& first, Choice&, Wants& others) {
  if (first.empty() || first.back() < 2) return false;
  others = {{{first.back()}, Data::positive}, {{first.back()}, Data::real}};
  return true;
}
bool channel_affine(const Shape& first, Choice&, Wants& others) {
  if (first.size() < 3 || first[0] < 2) return false;
  others = {{{first[1]}, Data::positive}, {{first[1]}, Data::real}};
  return true;
}
bool is_image(const Shape& first, Choice&, Wants&) { return first.size() == 4 && first[2] > 1 && first[3] > 1; }
bool is_volume(const Shape& first, Choice&, Wants&) {
  return first.size() == 5 && first[2] > 1 && first[3] > 1 && first[4] > 1;
}

Shape last(In in) { return {in[0].size(-1)}; }

void add_norms(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run, Result result) {
    rows.push_back({op, Data::real, need, run, Exact::products, result, Mixed::unknown});
  };
  push(
      "layer_norm", last_dim_affine,
      [](In in, Choice&, Dtype) { return layer_norm(in[0], last(in), in[1], in[2], 1e-2); }, Result::first);
  push(
      "rms_norm", last_dim_affine, [](In in, Choice&, Dtype) { return rms_norm(in[0], last(in), in[1], 1e-2); },
      Result::promoted);
  push(
      "group_norm", channel_affine,
      [](In in, Choice& c, Dtype) {
        const std::int64_t groups = in[0].size(1) % 2 == 0 && c.chance(0.5) ? 2 : 1;
        return group_norm(in[0], groups, in[1], in[2], 1e-2);
      },
      Result::first);
  push(
      "batch_norm", channel_affine,
      [](In in, Choice&, Dtype) { return batch_norm(in[0], {}, {}, in[1], in[2], true, 0.1, 1e-2); }, Result::first);
}

void add_pools(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run, Exact exact) {
    rows.push_back({op, Data::real, need, run, exact, Result::first});
  };
  push(
      "max_pool2d", is_image, [](In in, Choice& c, Dtype) { return max_pool2d(in[0], 2, 1 + c.below(2)); },
      Exact::bits);
  push(
      "max_pool3d", is_volume, [](In in, Choice&, Dtype) { return max_pool3d(in[0], 2, 1); }, Exact::bits);
  push(
      "avg_pool2d", is_image, [](In in, Choice& c, Dtype) { return avg_pool2d(in[0], 2, 1, c.below(2)); },
      Exact::products);
  push(
      "avg_pool3d", is_volume, [](In in, Choice&, Dtype) { return avg_pool3d(in[0], 2, 1); }, Exact::products);
  push(
      "adaptive_avg_pool2d", is_image,
      [](In in, Choice& c, Dtype) { return adaptive_avg_pool2d(in[0], 1 + c.below(2)); }, Exact::products);
  push(
      "adaptive_avg_pool3d", is_volume, [](In in, Choice&, Dtype) { return adaptive_avg_pool3d(in[0], 1); },
      Exact::products);
}

void add_attention(Rows& rows) {
  const auto key_value = [](const Shape& first, Choice&, Wants& others) {
    if (first.size() < 3 || first.size() > 4) return false;
    Shape key = first, value = first;
    key[key.size() - 2] = value[value.size() - 2] = 3;
    value[value.size() - 1] = 2;
    others = {{key, Data::real}, {value, Data::real}};
    return true;
  };
  rows.push_back(
      {"scaled_dot_product_attention", Data::real, key_value,
       [](In in, Choice& c, Dtype) { return scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, c.chance(0.5)); },
       Exact::inside, Result::promoted, Mixed::unknown});
}

template <int kGates>
bool cell_operands(const Shape& first, Choice&, Wants& others) {
  if (first.size() != 2) return false;
  constexpr std::int64_t kHidden = 2;
  const std::int64_t rows = kGates * kHidden;
  others = {{{first[0], kHidden}, Data::real},
            {{rows, first[1]}, Data::real},
            {{rows, kHidden}, Data::real},
            {{rows}, Data::real},
            {{rows}, Data::real},
            {{first[0], kHidden}, Data::real}};
  return true;
}

void add_cells(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::real, need, run, Exact::inside, Result::promoted, Mixed::unknown, true});
  };
  push("rnn_tanh_cell", cell_operands<1>,
       [](In in, Choice&, Dtype) { return rnn_tanh_cell(in[0], in[1], in[2], in[3], in[4], in[5]); });
  push("rnn_relu_cell", cell_operands<1>,
       [](In in, Choice&, Dtype) { return rnn_relu_cell(in[0], in[1], in[2], in[3], in[4], in[5]); });
  push("gru_cell", cell_operands<3>,
       [](In in, Choice&, Dtype) { return gru_cell(in[0], in[1], in[2], in[3], in[4], in[5]); });
  push("lstm_cell", cell_operands<4>, [](In in, Choice& c, Dtype) {
    const auto [h, cell] = lstm_cell(in[0], {in[1], in[6]}, in[2], in[3], in[4], in[5]);
    return c.chance(0.5) ? h : cell;
  });
}

void add_resampling(Rows& rows) {
  const auto push = [&rows](const char* op, int dims, auto run, Exact exact) {
    constexpr bool (*kNeeds[])(const Shape&, Choice&, Wants&) = {
        [](const Shape& s, Choice&, Wants&) { return s.size() == 3; },
        [](const Shape& s, Choice&, Wants&) { return s.size() == 4; },
        [](const Shape& s, Choice&, Wants&) { return s.size() == 5; }};
    rows.push_back({op, Data::real, kNeeds[dims - 1], run, exact, Result::first});
  };
  push(
      "upsample_nearest1d", 1, [](In in, Choice&, Dtype) { return interpolate(in[0], 5); }, Exact::bits);
  push(
      "upsample_nearest2d", 2,
      [](In in, Choice&, Dtype) {
        return interpolate(in[0], {3, 6});
      },
      Exact::bits);
  push(
      "upsample_nearest3d", 3, [](In in, Choice&, Dtype) { return interpolate(in[0], 3); }, Exact::bits);
  push(
      "upsample_linear1d", 1, [](In in, Choice& c, Dtype) { return interpolate(in[0], 5, "linear", c.chance(0.5)); },
      Exact::products);
  push(
      "upsample_bilinear2d", 2,
      [](In in, Choice& c, Dtype) {
        return interpolate(in[0], {3, 6}, "bilinear", c.chance(0.5));
      },
      Exact::products);
  push(
      "upsample_trilinear3d", 3,
      [](In in, Choice& c, Dtype) { return interpolate(in[0], 3, "trilinear", c.chance(0.5)); }, Exact::products);
  push(
      "upsample_bicubic2d", 2,
      [](In in, Choice& c, Dtype) {
        return interpolate(in[0], {3, 6}, "bicubic", c.chance(0.5));
      },
      Exact::products);
  rows.push_back({"grid_sampler", Data::real,
                  [](const Shape& first, Choice&, Wants& others) {
                    if (first.size() != 4) return false;
                    others = {{{first[0], 2, 3, 2}, Data::unit}};
                    return true;
                  },
                  [](In in, Choice& c, Dtype) {
                    return grid_sample(in[0], in[1], "bilinear", c.chance(0.5) ? "border" : "zeros", c.chance(0.5));
                  },
                  Exact::products, Result::promoted, Mixed::unknown});
}

}  // namespace

void add_layer_rows(Rows& rows) {
  add_norms(rows);
  add_pools(rows);
  add_attention(rows);
  add_cells(rows);
  add_resampling(rows);
}

}  // namespace amp::fuzz
