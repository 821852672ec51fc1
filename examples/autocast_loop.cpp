// Lesson: mixed precision in one line. PyTorch's training loop with an autocast region around forward and loss; the
// rest, backward and optimizer, stays outside and as it was. bfloat16 has float32's range, so nothing else is needed.
#include <fmt/format.h>

#include "examples/toy_problem.h"

int main() {
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.05});

  for (int epoch = 0; epoch < 20; ++epoch) {
    auto [input, target] = data.next();
    optimizer.zero_grad();                          // optimizer.zero_grad()
    amp::Tensor loss;                               //
    {                                               // with torch.autocast("cpu", torch.bfloat16):
      amp::autocast region("cpu", amp::kBFloat16);  //
      amp::Tensor output = model(input);            //     output = model(input)
      loss = amp::cross_entropy(output, target);    //     loss = cross_entropy(output, target)
    }                                               //
    loss.backward();                                // loss.backward()
    optimizer.step();                               // optimizer.step()
    if (epoch % 5 == 4) fmt::print("step {}: loss {:.4f}\n", epoch + 1, loss.item());
  }
}
