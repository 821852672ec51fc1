// Lesson: float16 needs its loss scaled. PyTorch's loop with autocast and GradScaler, line by line: small gradients
// would round to zero in float16, so the loss is multiplied before backward and the gradients divided before the step.
#include <fmt/format.h>

#include "examples/toy_problem.h"

int main() {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.05});
  amp::GradScaler scaler;  // scaler = torch.amp.GradScaler()

  for (int epoch = 0; epoch < 20; ++epoch) {
    auto [input, target] = data.next();
    optimizer.zero_grad();                         // optimizer.zero_grad()
    amp::Tensor loss;                              //
    {                                              // with torch.autocast("cpu", torch.float16):
      amp::autocast region("cpu", amp::kFloat16);  //
      amp::Tensor output = model(input);           //     output = model(input)
      loss = amp::cross_entropy(output, target);   //     loss = cross_entropy(output, target)
    }                                              //
    scaler.scale(loss).backward();                 // scaler.scale(loss).backward()
    scaler.step(optimizer);                        // scaler.step(optimizer)
    scaler.update();                               // scaler.update()
    if (epoch % 5 == 4)
      fmt::print("step {}: loss {:.4f}, loss scale {:g}\n", epoch + 1, loss.item(), scaler.get_scale());
  }
}
