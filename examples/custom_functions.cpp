// Lesson: functions with a gradient of their own under autocast. One whose ops can be autocast says so with custom_fwd
// and custom_bwd, and its backward runs in the types of its forward. One that needs a particular type asks for it with
// cast_inputs, and is left alone by the region.
#include "examples/recipe/recipe.h"

namespace {

using amp::Tensor;
using amp::Tensors;
using amp::autograd::AutogradContext;

// class MyMM(torch.autograd.Function):
struct MyMM : amp::autograd::Function<MyMM> {
  // @staticmethod @custom_fwd(device_type="cuda")
  static inline const auto forward = amp::custom_fwd("cpu")([](AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a, b});  // ctx.save_for_backward(a, b)
    return amp::mm(a, b);            // return a.mm(b)
  });
  // @staticmethod @custom_bwd(device_type="cuda")
  static inline const auto backward = amp::custom_bwd("cpu")([](AutogradContext* ctx, const Tensors& grads) {
    const Tensors saved = ctx->get_saved_variables();  // a, b = ctx.saved_tensors
    const Tensor &a = saved[0], &b = saved[1];         // return grad.mm(b.t()), a.t().mm(grad)
    return Tensors{amp::mm(grads[0], b.t()), amp::mm(a.t(), grads[0])};
  });
};

/// log(sum(exp(x))) of each row, in so many words: in float16 exp overflows from 11.1 on.
struct LogSumExp : amp::autograd::Function<LogSumExp> {
  // @staticmethod @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
  static inline const auto forward =
      amp::custom_fwd("cpu", {.cast_inputs = amp::kFloat32})([](AutogradContext* ctx, const Tensor& x) {
        const Tensor powers = amp::exp(x);
        const Tensor sums = powers.sum({-1}, true);
        ctx->save_for_backward({powers / sums});
        return amp::log(sums).squeeze(-1);
      });
  // @staticmethod @custom_bwd(device_type="cuda")
  static inline const auto backward = amp::custom_bwd("cpu")([](AutogradContext* ctx, const Tensors& grads) {
    return Tensors{grads[0].unsqueeze(-1) * ctx->get_saved_variables()[0]};
  });
};

struct Results {
  Tensor product, logs, weight_grad;
};

/// Cross entropy of a linear model, by the two functions or by libamp's own ops.
Results run(const recipe::Recipe& recipe, bool custom) {
  toy::Data data(2);
  const auto [input, target] = data.next();
  const Tensor weight = amp::randn({toy::kFeatures, toy::kClasses}, {.requires_grad = true});
  Results results;
  Tensor loss;
  {
    const amp::autocast region("cpu", recipe.region());
    results.product = custom ? MyMM::apply(input, weight) : amp::mm(input, weight);
    results.logs = custom ? LogSumExp::apply(results.product) : amp::logsumexp(results.product, {-1});
    const Tensor chosen = amp::gather(results.product, 1, target.unsqueeze(1)).squeeze(1);
    loss = (results.logs - chosen).mean();
  }
  loss.backward();
  results.weight_grad = weight.grad();
  return results;
}

bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.to_vector() == b.to_vector(); }

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Custom functions.", 1);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  const Results mine = run(recipe, true), own = run(recipe, false);
  fmt::print("product {}, logs {}, gradient {}\n", amp::describe(mine.product), amp::describe(mine.logs),
             amp::describe(mine.weight_grad));
  const amp::DType fast = recipe.region().enabled ? *recipe.region().dtype : amp::kFloat32;
  recipe.claim(mine.product.dtype() == fast, "the ops inside MyMM are autocast");
  recipe.claim(same(mine.product, own.product), "MyMM's result is mm's to the bit");
  recipe.claim(mine.logs.dtype() == amp::kFloat32, "LogSumExp runs in float32");
  recipe.claim(mine.logs.to_vector()[0] > 11.1 && std::isfinite(mine.logs.sum().item()),
               "and is finite where float16 would overflow");
  const amp::no_grad quiet;
  const double difference = amp::norm(mine.weight_grad - own.weight_grad).item();
  const double size = amp::norm(own.weight_grad).item();
  recipe.claim(
      difference <= recipe.tolerance() * size,
      fmt::format("gradients are those of libamp's own ops: they differ by {:.3g} of {:.3g}", difference, size));
  return recipe.end();
}
