// Lesson: several models, losses and optimizers share one scaler. Each loss is scaled, each optimizer stepped, and the
// scale updated once. An optimizer whose gradients overflow is skipped alone, while the others go on.
#include <limits>

#include "examples/recipe/recipe.h"

int main(int argc, char** argv) {
  recipe::Recipe recipe("Several models, losses and optimizers.", 20);
  if (const auto code = recipe.parse(argc, argv)) return *code;

  toy::Data data;
  amp::nn::Sequential model0 = toy::make_model(), model1 = toy::make_model(32);
  amp::SGD optimizer0(model0.parameters(), {.lr = 0.02});
  amp::Adam optimizer1(model1.parameters(), {.lr = 1e-3});
  amp::GradScaler scaler("cpu", recipe.scaler());
  const int bad_step = recipe.steps() / 2;
  int skipped0 = 0, skipped1 = 0;
  double first = 0, last = 0;
  for (int step = 0; step < recipe.steps(); ++step) {
    auto [input, target] = data.next();
    optimizer0.zero_grad();                                                // optimizer0.zero_grad()
    optimizer1.zero_grad();                                                // optimizer1.zero_grad()
    amp::Tensor loss0, loss1;                                              //
    {                                                                      // with autocast("cuda", torch.float16):
      const amp::autocast region("cpu", recipe.region());                  //
      const amp::Tensor output0 = model0(input), output1 = model1(input);  //
      loss0 = amp::cross_entropy(2.0 * output0 + 3.0 * output1,
                                 target);  //     loss0 = loss_fn(2 * output0 + 3 * output1, target)
      loss1 = amp::cross_entropy(3.0 * output0 - 5.0 * output1,
                                 target);           //     loss1 = loss_fn(3 * output0 - 5 * output1, target)
    }                                               //
    scaler.scale(loss0).backward({}, true);         // scaler.scale(loss0).backward(retain_graph=True)
    scaler.scale(loss1).backward();                 // scaler.scale(loss1).backward()
    if (step == bad_step && scaler.is_enabled()) {  // an overflow, planted
      const amp::no_grad quiet;
      model1.parameters()[0].grad().fill_(std::numeric_limits<double>::infinity());
    }
    scaler.unscale_(optimizer0);                  // scaler.unscale_(optimizer0)
    skipped0 += scaler.step(optimizer0).skipped;  // scaler.step(optimizer0)
    skipped1 += scaler.step(optimizer1).skipped;  // scaler.step(optimizer1)
    scaler.update();                              // scaler.update()
    last = loss0.item() + loss1.item();
    if (step == 0) first = last;
    if (step % 5 == 4)
      fmt::print("step {}: losses {:.4f} and {:.4f}, loss scale {:g}, skipped {} and {}\n", step + 1, loss0.item(),
                 loss1.item(), scaler.get_scale(), skipped0, skipped1);
  }
  recipe.claim(last < first, fmt::format("the losses fall: {:.4f}, then {:.4f}", first, last));
  if (scaler.is_enabled()) {
    recipe.claim(skipped0 == 0 && skipped1 == 1, "only the optimizer with the overflow skipped a step");
    recipe.claim(scaler.get_scale() == 512, "the scale was halved once");
  }
  return recipe.end();
}
