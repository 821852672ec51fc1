// Adaptors for products, convolutions, pooling, normalisations, softmax and its losses, attention, recurrent cells and
// resampling.
#include "libamp/ops/ops.h"
#include "tests/golden/golden.h"

namespace amp::golden {
namespace {

using Call = const GoldenCall&;

SizeList sizes(Call c, const char* name, int otherwise) {
  return c.has(name) ? SizeList(c.list(name)) : SizeList(otherwise);
}
double beta(Call c) { return c.number("beta", 1); }
double alpha(Call c) { return c.number("alpha", 1); }

template <typename F>
Tensors conv(Call c, F f) {
  const ConvPadding padding = c.has("padding") ? ConvPadding(c.list("padding")) : ConvPadding(0);
  return {f(c.in("input"), c.in("weight"), c.in("bias"), sizes(c, "stride", 1), padding, sizes(c, "dilation", 1),
            c.integer("groups", 1))};
}
template <typename F>
Tensors conv_transpose(Call c, F f) {
  return {f(c.in("input"), c.in("weight"), c.in("bias"), sizes(c, "stride", 1), sizes(c, "padding", 0),
            sizes(c, "output_padding", 0), c.integer("groups", 1), sizes(c, "dilation", 1))};
}
template <typename F>
Tensors cell(Call c, F f) {
  return {f(c.in("input"), c.in("hx"), c.in("w_ih"), c.in("w_hh"), c.in("b_ih"), c.in("b_hh"))};
}

const RegisterOps kProducts{
    {"matmul", [](Call c) { return Tensors{matmul(c.in("input"), c.in("other"))}; }},
    {"linear", [](Call c) { return Tensors{linear(c.in("input"), c.in("weight"), c.in("bias"))}; }},
    {"mm", [](Call c) { return Tensors{mm(c.in("input"), c.in("mat2"))}; }},
    {"mv", [](Call c) { return Tensors{mv(c.in("input"), c.in("vec"))}; }},
    {"bmm", [](Call c) { return Tensors{bmm(c.in("input"), c.in("mat2"))}; }},
    {"addmm", [](Call c) { return Tensors{addmm(c.in("input"), c.in("mat1"), c.in("mat2"), beta(c), alpha(c))}; }},
    {"addmv", [](Call c) { return Tensors{addmv(c.in("input"), c.in("mat"), c.in("vec"), beta(c), alpha(c))}; }},
    {"addr", [](Call c) { return Tensors{addr(c.in("input"), c.in("vec1"), c.in("vec2"), beta(c), alpha(c))}; }},
    {"addbmm",
     [](Call c) { return Tensors{addbmm(c.in("input"), c.in("batch1"), c.in("batch2"), beta(c), alpha(c))}; }},
    {"baddbmm",
     [](Call c) { return Tensors{baddbmm(c.in("input"), c.in("batch1"), c.in("batch2"), beta(c), alpha(c))}; }},
    {"chain_matmul",
     [](Call c) {
       Tensors factors;
       for (const auto& [name, tensor] : c.inputs) factors.push_back(tensor);
       return Tensors{multi_dot(factors)};
     }},
    {"tensordot", [](Call c) { return Tensors{tensordot(c.in("a"), c.in("b"), c.list("dims_a"), c.list("dims_b"))}; }},
    {"bilinear",
     [](Call c) { return Tensors{bilinear(c.in("input1"), c.in("input2"), c.in("weight"), c.in("bias"))}; }},
};

const RegisterOps kConvolutions{
    {"conv1d", [](Call c) { return conv(c, conv1d); }},
    {"conv2d", [](Call c) { return conv(c, conv2d); }},
    {"conv3d", [](Call c) { return conv(c, conv3d); }},
    {"conv_transpose1d", [](Call c) { return conv_transpose(c, conv_transpose1d); }},
    {"conv_transpose2d", [](Call c) { return conv_transpose(c, conv_transpose2d); }},
    {"conv_transpose3d", [](Call c) { return conv_transpose(c, conv_transpose3d); }},
    {"max_pool2d",
     [](Call c) {
       return Tensors{max_pool2d(c.in("input"), c.list("kernel_size"), SizeList(c.list("stride")),
                                 sizes(c, "padding", 0), sizes(c, "dilation", 1), c.flag("ceil_mode", false))};
     }},
    {"avg_pool2d",
     [](Call c) {
       return Tensors{avg_pool2d(c.in("input"), c.list("kernel_size"), SizeList(c.list("stride")),
                                 sizes(c, "padding", 0), c.flag("ceil_mode", false),
                                 c.flag("count_include_pad", true))};
     }},
    {"grid_sample",
     [](Call c) {
       return Tensors{grid_sample(c.in("input"), c.in("grid"), c.text("mode", "bilinear"),
                                  c.text("padding_mode", "zeros"), c.flag("align_corners", false))};
     }},
};

const RegisterOps kNormalisations{
    {"layer_norm",
     [](Call c) {
       return Tensors{
           layer_norm(c.in("input"), c.list("normalized_shape"), c.in("weight"), c.in("bias"), c.number("eps", 1e-5))};
     }},
    {"group_norm",
     [](Call c) {
       return Tensors{
           group_norm(c.in("input"), c.integer("num_groups", 1), c.in("weight"), c.in("bias"), c.number("eps", 1e-5))};
     }},
    {"batch_norm",
     [](Call c) {
       return Tensors{batch_norm(c.in("input"), c.in("running_mean"), c.in("running_var"), c.in("weight"), c.in("bias"),
                                 c.flag("training", false), c.number("momentum", 0.1), c.number("eps", 1e-5))};
     }},
    {"softmax", [](Call c) { return Tensors{softmax(c.in("input"), c.integer("dim", -1))}; }},
    {"log_softmax", [](Call c) { return Tensors{log_softmax(c.in("input"), c.integer("dim", -1))}; }},
    {"softmin", [](Call c) { return Tensors{softmin(c.in("input"), c.integer("dim", -1))}; }},
    {"nll_loss",
     [](Call c) {
       return Tensors{nll_loss(c.in("input"), c.in("target"), c.in("weight"), c.integer("ignore_index", -100),
                               c.text("reduction", "mean"))};
     }},
    {"cross_entropy",
     [](Call c) {
       return Tensors{cross_entropy(c.in("input"), c.in("target"), c.in("weight"), c.integer("ignore_index", -100),
                                    c.text("reduction", "mean"), c.number("label_smoothing", 0))};
     }},
};

const RegisterOps kAttentionAndCells{
    {"scaled_dot_product_attention",
     [](Call c) {
       return Tensors{scaled_dot_product_attention(c.in("query"), c.in("key"), c.in("value"), c.in("attn_mask"),
                                                   c.number("dropout_p", 0), c.flag("is_causal", false))};
     }},
    {"rnn_tanh_cell", [](Call c) { return cell(c, rnn_tanh_cell); }},
    {"rnn_relu_cell", [](Call c) { return cell(c, rnn_relu_cell); }},
    {"gru_cell", [](Call c) { return cell(c, gru_cell); }},
    {"lstm_cell",
     [](Call c) {
       const auto [hidden, state] =
           lstm_cell(c.in("input"), {c.in("hx"), c.in("cx")}, c.in("w_ih"), c.in("w_hh"), c.in("b_ih"), c.in("b_hh"));
       return Tensors{hidden, state};
     }},
};

}  // namespace
}  // namespace amp::golden
