// Lesson: gradient accumulation. Four small batches act as one large one: their losses are divided by four and scaled
// with the same scale, and unscaling, step and update happen once, at the end. A scale that changed in between would
// mix gradients of two scales.
#include "examples/recipe/recipe.h"

namespace {

constexpr std::int64_t kParts = 4;

/// Trains on each batch in `parts` pieces; returns the first weight matrix.
amp::Tensor train(const recipe::Recipe& recipe, std::int64_t parts) {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.05});
  amp::GradScaler scaler("cpu", recipe.scaler());
  for (int step = 0; step < recipe.steps(); ++step) {
    auto [inputs, targets] = data.next();
    const std::int64_t size = toy::kBatch / parts;
    double total = 0;
    for (std::int64_t i = 0; i < parts; ++i) {  // for i, (input, target) in enumerate(data):
      amp::Tensor loss;                         //
      {                                         //     with autocast("cuda", torch.float16):
        const amp::autocast region("cpu", recipe.region());
        const amp::Tensor output = model(inputs.narrow(0, i * size, size));
        loss = amp::cross_entropy(output, targets.narrow(0, i * size, size));
        loss = loss / static_cast<double>(parts);  //         loss = loss / iters_to_accumulate
      }                                            //
      scaler.scale(loss).backward();               //     scaler.scale(loss).backward()
      total += loss.item();                        //
      if ((i + 1) % parts == 0) {                  //     if (i + 1) % iters_to_accumulate == 0:
        scaler.step(optimizer);                    //         scaler.step(optimizer)
        scaler.update();                           //         scaler.update()
        optimizer.zero_grad();                     //         optimizer.zero_grad()
      }
    }
    if (step % 5 == 4) fmt::print("step {}: loss {:.4f}, loss scale {:g}\n", step + 1, total, scaler.get_scale());
  }
  return model.parameters()[0];
}

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Gradient accumulation.", 10);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  fmt::print("whole batches:\n");
  const amp::Tensor whole = train(recipe, 1);
  fmt::print("batches in {} parts:\n", kParts);
  const amp::Tensor parts = train(recipe, kParts);
  const amp::no_grad quiet;
  const double difference = amp::norm(whole - parts).item(), size = amp::norm(whole).item();
  recipe.claim(
      difference <= recipe.tolerance() * size,
      fmt::format("the weights are those of whole batches: they differ by {:.3g} of {:.3g}", difference, size));
  return recipe.end();
}
