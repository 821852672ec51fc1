// Lesson: PyTorch's typical mixed precision training, line by line: forward and loss in a region, the rest outside. In
// float16 small gradients would round to zero, so the loss is scaled before backward and the gradients unscaled before
// the step; a disabled scaler and a disabled region change nothing, so one loop serves every precision.
#include "examples/recipe/recipe.h"

namespace {

/// The loss of the last step.
double train(const recipe::Recipe& recipe, const amp::AutocastOptions& precision,
             const amp::GradScalerOptions& scaling) {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.05});
  amp::GradScaler scaler("cpu", scaling);  // scaler = torch.amp.GradScaler("cuda")
  amp::Tensor loss;
  int skipped = 0;
  for (int step = 0; step < recipe.steps(); ++step) {
    auto [input, target] = data.next();
    optimizer.zero_grad();                           // optimizer.zero_grad()
    {                                                // with autocast(device_type="cuda", dtype=torch.float16):
      const amp::autocast region("cpu", precision);  //
      const amp::Tensor output = model(input);       //     output = model(input)
      loss = amp::cross_entropy(output, target);     //     loss = loss_fn(output, target)
    }                                                //
    scaler.scale(loss).backward();                   // scaler.scale(loss).backward()
    skipped += scaler.step(optimizer).skipped;       // scaler.step(optimizer)
    scaler.update();                                 // scaler.update()
    if (step % 5 == 4)
      fmt::print("step {}: loss {:.4f}, loss scale {:g}, {} skipped\n", step + 1, loss.item(), scaler.get_scale(),
                 skipped);
  }
  return loss.item();
}

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Typical mixed precision training.", 20);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  const double loss = train(recipe, recipe.region(), recipe.scaler());
  fmt::print("the same in float32:\n");
  const double in_float32 = train(recipe, {.enabled = false}, {.enabled = false});
  recipe.claim_close(loss, in_float32, "the loss at the end is float32's");
  return recipe.end();
}
