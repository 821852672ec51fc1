// ctc_loss: against the sum over all alignments, and its gradient behind a log_softmax.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;

// The rows tested here: ctc_loss ctc_loss_nll ctc_loss_backward

namespace {

Tensor whole(std::initializer_list<double> of) { return tensor(of, {.dtype = kInt64}); }
Tensor targets(std::initializer_list<double> of, const Shape& sizes) {
  return reshape(tensor(of, {.dtype = kInt64}), sizes);
}

// Minus the log of the sum of the probabilities of all paths that collapse to the target.
double by_enumeration(const Tensor& log_probs, const std::vector<std::int64_t>& target) {
  const std::int64_t steps = log_probs.size(0), classes = log_probs.size(1);
  const std::vector<double> lp = log_probs.to_vector();
  double total = 0;
  std::int64_t paths = 1;
  for (std::int64_t t = 0; t < steps; ++t) paths *= classes;
  for (std::int64_t path = 0; path < paths; ++path) {
    std::vector<std::int64_t> collapsed;
    double log_probability = 0;
    std::int64_t rest = path, before = 0;
    for (std::int64_t t = 0; t < steps; ++t, rest /= classes) {
      const std::int64_t label = rest % classes;
      log_probability += lp[static_cast<std::size_t>(t * classes + label)];
      if (label != 0 && label != before) collapsed.push_back(label);
      before = label;
    }
    if (collapsed == target) total += std::exp(log_probability);
  }
  return -std::log(total);
}

}  // namespace

TEST_CASE("ctc_loss is the sum over all alignments") {
  const Tensor lp = log_softmax(values({5, 1, 3}) * 2.0, -1);
  for (const std::vector<std::int64_t>& target :
       {std::vector<std::int64_t>{}, {1}, {1, 2}, {1, 1}, {2, 1, 2}, {2, 2, 1}}) {
    const auto n = static_cast<std::int64_t>(target.size());
    const Tensor labels = from_memory(target.data(), {1, n}, kInt64);
    const double loss =
        ctc_loss(lp, labels, whole({5}), full({1}, static_cast<double>(n), {.dtype = kInt64}), 0, "sum").item();
    CHECK(std::abs(loss - by_enumeration(select(lp, 1, 0), target)) < 1e-12);
  }
  // Another blank, targets in a row, shorter inputs.
  const Tensor both = log_softmax(values({4, 2, 3}, 3), -1);
  const Tensor each = ctc_loss(both, whole({1, 2, 2}), whole({4, 3}), whole({1, 2}), 0, "none");
  CHECK(std::abs(each.to_vector()[0] - by_enumeration(select(both, 1, 0), {1})) < 1e-12);
  const Tensor shorter =
      ctc_loss(narrow(select(both, 1, 1), 0, 0, 3), whole({2, 2}), whole({3}), whole({2}), 0, "none");
  CHECK(std::abs(each.to_vector()[1] - shorter.item()) < 1e-12);
  CHECK(std::abs(ctc_loss(both, whole({1, 2, 2}), whole({4, 3}), whole({1, 2})).item() -
                 (each.to_vector()[0] + each.to_vector()[1] / 2) / 2) < 1e-12);
}

TEST_CASE("the gradient of ctc_loss behind a log_softmax") {
  const Tensor x = values({5, 2, 4}) * 2.0, labels = targets({1, 3, 2, 2}, {2, 2});
  const Tensor leaf = x.detach();
  leaf.requires_grad_();
  for (const char* reduction : {"mean", "sum", "none"})
    CHECK(gradcheck(
              [&](const Tensors& a) {
                return ctc_loss(log_softmax(a[0], -1), labels, whole({5, 4}), whole({2, 1}), 0, reduction);
              },
              {leaf}) == "");
}

TEST_CASE("alignments that cannot be are infinite, or nothing") {
  const Tensor x = values({2, 1, 3});
  x.requires_grad_();
  const Tensor lp = log_softmax(x, -1), labels = targets({1, 1}, {1, 2});  // needs a blank between: three steps
  CHECK(std::isinf(ctc_loss(lp, labels, whole({2}), whole({2})).item()));
  const Tensor none = ctc_loss(lp, labels, whole({2}), whole({2}), 0, "sum", true);
  CHECK(none.item() == 0);
  none.backward();
  CHECK(sum(abs(x.grad())).item() == 0);
}

TEST_CASE("what ctc_loss refuses, and its rule") {
  const Tensor lp = log_softmax(values({3, 1, 3}), -1);
  CHECK_THROWS_WITH(ctc_loss(lp, targets({1, 3}, {1, 2}), whole({3}), whole({2})), ContainsSubstring("not a class"));
  CHECK_THROWS_WITH(ctc_loss(lp, targets({1}, {1, 1}), whole({4}), whole({1})), ContainsSubstring("input length 4"));
  CHECK_THROWS_WITH(ctc_loss(lp, targets({1}, {1, 1}), whole({3}), whole({1}), 5), ContainsSubstring("blank"));
  CHECK_THROWS_WITH(ctc_loss(lp, targets({1}, {1, 1}), whole({3}), whole({1}), 0, "max"),
                    ContainsSubstring("reduction"));
  CHECK_THROWS_WITH(ctc_loss(lp.half(), targets({1}, {1, 1}), whole({3}), whole({1})), ContainsSubstring("float32"));
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(ctc_loss(lp.bfloat16(), targets({1}, {1, 1}), whole({3}), whole({1})).dtype() == kFloat32);
}
