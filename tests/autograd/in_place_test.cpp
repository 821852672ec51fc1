// In-place ops on tensors of the graph: the gradient needs what they overwrite.
#include <catch2/catch_test_macros.hpp>

#include "libamp/core/allocator.h"
#include "libamp/ops/ops.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using test::gradcheck;
using test::gradgradcheck;
using test::values;

namespace {

Tensor leaf(const Shape& sizes, int seed) {
  // Away from 0, which div_ divides by.
  const no_grad quiet;
  Tensor t = values(sizes, seed) + 2.0;
  return t.detach().requires_grad_();
}

struct Case {
  const char* name;
  test::TensorFunction f;
};

const Case kCases[] = {
    {"mul_", [](const Tensors& in) { return clone(in[0]).mul_(in[1]); }},
    {"mul_ by itself",
     [](const Tensors& in) {
       const Tensor x = in[0] * in[1];
       return Tensor(x.mul_(x));
     }},
    {"mul_ by a number", [](const Tensors& in) { return (in[0] * in[1]).mul_(-1.5); }},
    {"mul_ of what needs no gradient",
     [](const Tensors& in) {
       return full({2, 3}, 1.5, {.dtype = DType::float64}).mul_(in[0] * in[1]);
     }},
    {"div_", [](const Tensors& in) { return (in[0] * in[1]).div_(in[1]); }},
    {"addcmul_", [](const Tensors& in) { return addcmul_(clone(in[0]), in[0], in[1]); }},
    {"addcdiv_", [](const Tensors& in) { return addcdiv_(clone(in[0]), in[0], in[1]); }},
    {"clamp_", [](const Tensors& in) { return clamp_(in[0] * in[1], 3.0, 5.0); }},
};

}  // namespace

TEST_CASE("an in-place op keeps what its gradient needs of the values it overwrites") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    CHECK(gradcheck(c.f, {leaf({2, 3}, 1), leaf({2, 3}, 2)}) == "");
    CHECK(gradgradcheck(c.f, {leaf({2, 3}, 3), leaf({2, 3}, 4)}) == "");
  }
}

TEST_CASE("an in-place op does not make a tensor keep itself alive") {
  const std::size_t before = cpu_allocator::statistics().used;
  for (const Case& c : kCases) {
    c.f({leaf({2, 3}, 1), leaf({2, 3}, 2)});
    CAPTURE(c.name);
    CHECK(cpu_allocator::statistics().used == before);
  }
}
