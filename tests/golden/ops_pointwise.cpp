// Adaptors of the golden cases: pointwise functions, reductions, indexing, joining, distances and losses.
#include <limits>

#include "libamp/ops/ops.h"
#include "tests/golden/golden.h"

namespace amp::golden {
namespace {

using Call = const GoldenCall&;

// Attribute "dim" of a case: absent, a number or a list.
Shape dims(Call c) { return c.list("dim"); }

#define AMP_UNARY(id)                                      \
  {                                                        \
#id, [](Call c) { return Tensors{id(c.in("input"))}; } \
  }
#define AMP_BINARY(id)                                                    \
  {                                                                       \
#id, [](Call c) { return Tensors{id(c.in("input"), c.in("other"))}; } \
  }

const RegisterOps kUnary{
    AMP_UNARY(abs),   AMP_UNARY(neg),     AMP_UNARY(sqrt),  AMP_UNARY(sin),        AMP_UNARY(cos),
    AMP_UNARY(tan),   AMP_UNARY(acos),    AMP_UNARY(asin),  AMP_UNARY(atan),       AMP_UNARY(cosh),
    AMP_UNARY(sinh),  AMP_UNARY(tanh),    AMP_UNARY(erf),   AMP_UNARY(erfinv),     AMP_UNARY(exp),
    AMP_UNARY(expm1), AMP_UNARY(log),     AMP_UNARY(log10), AMP_UNARY(log2),       AMP_UNARY(log1p),
    AMP_UNARY(relu),  AMP_UNARY(sigmoid), AMP_UNARY(silu),  AMP_UNARY(reciprocal), AMP_UNARY(rsqrt)};

const RegisterOps kBinary{AMP_BINARY(add), AMP_BINARY(sub), AMP_BINARY(mul), AMP_BINARY(div), AMP_BINARY(atan2)};
#undef AMP_UNARY
#undef AMP_BINARY

const RegisterOps kPointwise{
    {"gelu", [](Call c) { return Tensors{gelu(c.in("input"), c.text("approximate", "none"))}; }},
    {"leaky_relu", [](Call c) { return Tensors{leaky_relu(c.in("input"), c.number("negative_slope", 0.01))}; }},
    {"elu", [](Call c) { return Tensors{elu(c.in("input"), c.number("alpha", 1))}; }},
    {"prelu", [](Call c) { return Tensors{prelu(c.in("input"), c.in("weight"))}; }},
    {"softplus",
     [](Call c) { return Tensors{softplus(c.in("input"), c.number("beta", 1), c.number("threshold", 20))}; }},
    {"pow",
     [](Call c) {
       const Tensor exponent = c.in("exponent");
       return Tensors{exponent.defined() ? pow(c.in("input"), exponent) : pow(c.in("input"), c.number("exponent", 1))};
     }},
    {"rpow", [](Call c) { return Tensors{pow(c.number("self", 1), c.in("exponent"))}; }},
    {"addcmul",
     [](Call c) { return Tensors{addcmul(c.in("input"), c.in("tensor1"), c.in("tensor2"), c.number("value", 1))}; }},
    {"addcdiv",
     [](Call c) { return Tensors{addcdiv(c.in("input"), c.in("tensor1"), c.in("tensor2"), c.number("value", 1))}; }},
    {"where", [](Call c) { return Tensors{where(c.in("condition"), c.in("input"), c.in("other"))}; }},
    {"masked_fill", [](Call c) { return Tensors{masked_fill(c.in("input"), c.in("mask"), c.number("value", 0))}; }},
};

const RegisterOps kReductions{
    {"sum", [](Call c) { return Tensors{sum(c.in("input"), dims(c), c.flag("keepdim", false))}; }},
    {"mean", [](Call c) { return Tensors{mean(c.in("input"), dims(c), c.flag("keepdim", false))}; }},
    {"prod",
     [](Call c) {
       return Tensors{c.has("dim") ? prod(c.in("input"), c.integer("dim", 0), c.flag("keepdim", false))
                                   : prod(c.in("input"))};
     }},
    {"cumsum", [](Call c) { return Tensors{cumsum(c.in("input"), c.integer("dim", 0))}; }},
    {"cumprod", [](Call c) { return Tensors{cumprod(c.in("input"), c.integer("dim", 0))}; }},
    {"norm", [](Call c) { return Tensors{norm(c.in("input"), c.number("p", 2), dims(c), c.flag("keepdim", false))}; }},
    {"max", [](Call c) { return Tensors{max(c.in("input"))}; }},
    {"dot", [](Call c) { return Tensors{dot(c.in("input"), c.in("tensor"))}; }},
    {"vdot", [](Call c) { return Tensors{vdot(c.in("input"), c.in("other"))}; }},
    {"cross", [](Call c) { return Tensors{cross(c.in("input"), c.in("other"), c.integer("dim", -1))}; }},
};

// The tensors of a list argument are the inputs in order.
Tensors all_inputs(Call c) {
  Tensors tensors;
  for (const auto& [name, tensor] : c.inputs) tensors.push_back(tensor);
  return tensors;
}

const RegisterOps kIndexing{
    {"index_put",
     [](Call c) {
       return Tensors{index_put(c.in("input"), {c.in("index")}, c.in("values"), c.flag("accumulate", false))};
     }},
    {"scatter_add",
     [](Call c) { return Tensors{scatter_add(c.in("input"), c.integer("dim", 0), c.in("index"), c.in("src"))}; }},
    {"embedding",
     [](Call c) { return Tensors{embedding(c.in("weight"), c.in("input"), c.integer("padding_idx", -1))}; }},
    {"cat", [](Call c) { return Tensors{cat(all_inputs(c), c.integer("dim", 0))}; }},
    {"stack", [](Call c) { return Tensors{stack(all_inputs(c), c.integer("dim", 0))}; }},
};

const RegisterOps kDistances{
    {"dist", [](Call c) { return Tensors{dist(c.in("input"), c.in("other"), c.number("p", 2))}; }},
    {"cdist", [](Call c) { return Tensors{cdist(c.in("x1"), c.in("x2"), c.number("p", 2))}; }},
    {"pdist", [](Call c) { return Tensors{pdist(c.in("input"), c.number("p", 2))}; }},
    {"cosine_similarity",
     [](Call c) {
       return Tensors{cosine_similarity(c.in("x1"), c.in("x2"), c.integer("dim", 1), c.number("eps", 1e-8))};
     }},
    {"renorm",
     [](Call c) {
       return Tensors{renorm(c.in("input"), c.number("p", 2), c.integer("dim", 0), c.number("maxnorm", 1))};
     }},
    {"normalize",
     [](Call c) {
       return Tensors{normalize(c.in("input"), c.number("p", 2), c.integer("dim", 1), c.number("eps", 1e-12))};
     }},
};

std::string reduction(Call c) { return c.text("reduction", "mean"); }

const RegisterOps kElementLosses{
    {"mse_loss", [](Call c) { return Tensors{mse_loss(c.in("input"), c.in("target"), reduction(c))}; }},
    {"l1_loss", [](Call c) { return Tensors{l1_loss(c.in("input"), c.in("target"), reduction(c))}; }},
    {"smooth_l1_loss",
     [](Call c) { return Tensors{smooth_l1_loss(c.in("input"), c.in("target"), reduction(c), c.number("beta", 1))}; }},
    {"huber_loss",
     [](Call c) { return Tensors{huber_loss(c.in("input"), c.in("target"), reduction(c), c.number("delta", 1))}; }},
    {"soft_margin_loss", [](Call c) { return Tensors{soft_margin_loss(c.in("input"), c.in("target"), reduction(c))}; }},
    {"kl_div",
     [](Call c) { return Tensors{kl_div(c.in("input"), c.in("target"), reduction(c), c.flag("log_target", false))}; }},
    {"poisson_nll_loss",
     [](Call c) {
       return Tensors{poisson_nll_loss(c.in("input"), c.in("target"), c.flag("log_input", true), c.flag("full", false),
                                       c.number("eps", 1e-8), reduction(c))};
     }},
    {"binary_cross_entropy",
     [](Call c) { return Tensors{binary_cross_entropy(c.in("input"), c.in("target"), c.in("weight"), reduction(c))}; }},
    {"binary_cross_entropy_with_logits",
     [](Call c) {
       return Tensors{binary_cross_entropy_with_logits(c.in("input"), c.in("target"), c.in("weight"), reduction(c),
                                                       c.in("pos_weight"))};
     }},
};

const RegisterOps kMarginLosses{
    {"cosine_embedding_loss",
     [](Call c) {
       return Tensors{
           cosine_embedding_loss(c.in("input1"), c.in("input2"), c.in("target"), c.number("margin", 0), reduction(c))};
     }},
    {"hinge_embedding_loss",
     [](Call c) {
       return Tensors{hinge_embedding_loss(c.in("input"), c.in("target"), c.number("margin", 1), reduction(c))};
     }},
    {"margin_ranking_loss",
     [](Call c) {
       return Tensors{
           margin_ranking_loss(c.in("input1"), c.in("input2"), c.in("target"), c.number("margin", 0), reduction(c))};
     }},
    {"multi_margin_loss",
     [](Call c) {
       return Tensors{multi_margin_loss(c.in("input"), c.in("target"), c.number("p", 1), c.number("margin", 1),
                                        c.in("weight"), reduction(c))};
     }},
    {"multilabel_margin_loss",
     [](Call c) { return Tensors{multilabel_margin_loss(c.in("input"), c.in("target"), reduction(c))}; }},
    {"triplet_margin_loss",
     [](Call c) {
       return Tensors{triplet_margin_loss(c.in("anchor"), c.in("positive"), c.in("negative"), c.number("margin", 1),
                                          c.number("p", 2), c.number("eps", 1e-6), c.flag("swap", false),
                                          reduction(c))};
     }},
};

}  // namespace
}  // namespace amp::golden
