// Lesson: gradient clipping. The threshold speaks of true gradients, so they are unscaled first; step() knows that they
// were, and does not do it again.
#include "examples/recipe/recipe.h"

namespace {

constexpr double kMaxNorm = 0.5;

/// The norms before clipping, one a step.
std::vector<double> train(recipe::Recipe& recipe, const amp::AutocastOptions& precision,
                          const amp::GradScalerOptions& scaling) {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.5});
  amp::GradScaler scaler("cpu", scaling);
  std::vector<double> norms;
  for (int step = 0; step < recipe.steps(); ++step) {
    auto [input, target] = data.next();
    optimizer.zero_grad();                                              // optimizer.zero_grad()
    amp::Tensor loss;                                                   //
    {                                                                   // with autocast("cuda", torch.float16):
      const amp::autocast region("cpu", precision);                     //
      loss = amp::cross_entropy(model(input), target);                  //     loss = loss_fn(model(input), target)
    }                                                                   //
    scaler.scale(loss).backward();                                      // scaler.scale(loss).backward()
    scaler.unscale_(optimizer);                                         // scaler.unscale_(optimizer)
    const amp::Tensor norm =                                            // torch.nn.utils.clip_grad_norm_(
        amp::nn::utils::clip_grad_norm_(model.parameters(), kMaxNorm);  // model.parameters(), max_norm)
    double clipped = 0;
    for (const amp::Tensor& p : model.parameters()) clipped += std::pow(amp::norm(p.grad()).item(), 2);
    clipped = std::sqrt(clipped);
    scaler.step(optimizer);  // scaler.step(optimizer)
    scaler.update();         // scaler.update()
    norms.push_back(norm.item());
    if (step % 5 == 4)
      fmt::print("step {}: loss {:.4f}, norm {:.4f} clipped to {:.4f}, loss scale {:g}\n", step + 1, loss.item(),
                 norms.back(), clipped, scaler.get_scale());
    if (clipped > kMaxNorm * (1 + 1e-5)) recipe.claim(false, fmt::format("step {}: the norm is {}", step, clipped));
  }
  return norms;
}

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Gradient clipping.", 10);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  const std::vector<double> norms = train(recipe, recipe.region(), recipe.scaler());
  fmt::print("the same in float32:\n");
  const std::vector<double> in_float32 = train(recipe, {.enabled = false}, {.enabled = false});
  recipe.claim_close(norms[0], in_float32[0], "the norm before clipping is float32's");
  recipe.claim(norms[0] > kMaxNorm, "there was something to clip");
  return recipe.end();
}
