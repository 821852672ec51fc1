// Lesson: gradient penalty. The penalty is a function of true gradients, so those that grad() gives of the scaled loss
// are unscaled by hand, out of place: they are part of the graph, and backward goes through them a second time.
#include "examples/recipe/recipe.h"

namespace {

struct Result {
  double first_penalty = 0, first_loss = 0, last_loss = 0;
};

Result train(const recipe::Recipe& recipe, const amp::AutocastOptions& precision,
             const amp::GradScalerOptions& scaling) {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.02});
  amp::GradScaler scaler("cpu", scaling);
  Result result;
  for (int step = 0; step < recipe.steps(); ++step) {
    auto [input, target] = data.next();
    optimizer.zero_grad();                                                 // optimizer.zero_grad()
    amp::Tensor loss;                                                      //
    {                                                                      // with autocast("cuda", torch.float16):
      const amp::autocast region("cpu", precision);                        //
      loss = amp::cross_entropy(model(input), target);                     //     loss = loss_fn(model(input), target)
    }                                                                      //
    const amp::Tensors scaled =                                            // scaled_grad_params = torch.autograd.grad(
        amp::grad({scaler.scale(loss)},                                    //     outputs=scaler.scale(loss),
                  model.parameters(), {},                                  //     inputs=model.parameters(),
                  true, true);                                             //     create_graph=True)
    const double inv_scale = 1 / scaler.get_scale();                       // inv_scale = 1. / scaler.get_scale()
    amp::Tensor penalty;                                                   //
    {                                                                      // with autocast("cuda", torch.float16):
      const amp::autocast region("cpu", precision);                        //
      for (const amp::Tensor& gradient : scaled) {                         //     for grad in grad_params:
        const amp::Tensor part = amp::pow(gradient * inv_scale, 2).sum();  // grad_norm += grad.pow(2).sum()
        penalty = penalty.defined() ? penalty + part : part;
      }                              //
      penalty = amp::sqrt(penalty);  //     grad_norm = grad_norm.sqrt()
      loss = loss + penalty;         //     loss = loss + grad_norm
    }                                //
    scaler.scale(loss).backward();   // scaler.scale(loss).backward()
    scaler.step(optimizer);          // scaler.step(optimizer)
    scaler.update();                 // scaler.update()
    if (step == 0) result = {penalty.item(), loss.item(), 0};
    result.last_loss = loss.item();
    if (step % 5 == 4)
      fmt::print("step {}: loss {:.4f} of which penalty {:.4f}, loss scale {:g}\n", step + 1, loss.item(),
                 penalty.item(), scaler.get_scale());
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Gradient penalty.", 20);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  const Result result = train(recipe, recipe.region(), recipe.scaler());
  fmt::print("the same in float32:\n");
  const Result in_float32 = train(recipe, {.enabled = false}, {.enabled = false});
  recipe.claim_close(result.first_penalty, in_float32.first_penalty, "the first penalty is float32's");
  recipe.claim_close(result.last_loss, in_float32.last_loss, "the loss at the end is float32's");
  recipe.claim(result.last_loss < result.first_loss, "the loss falls, through the second derivatives");
  return recipe.end();
}
