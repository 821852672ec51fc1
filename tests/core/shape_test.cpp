// Shape arithmetic and its errors.
#include "libamp/core/shape.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace amp;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("shapes broadcast as in PyTorch") {
  struct Row {
    Shape a, b, result;
  };
  const Row rows[] = {
      {{}, {}, {}},    {{3}, {}, {3}},          {{1}, {4}, {4}}, {{2, 1}, {3}, {2, 3}}, {{2, 1, 3}, {4, 1}, {2, 4, 3}},
      {{0}, {1}, {0}}, {{1, 0}, {5, 1}, {5, 0}}};
  for (const auto& row : rows) {
    CHECK(broadcast_shapes(row.a, row.b, "t") == row.result);
    CHECK(broadcast_shapes(row.b, row.a, "t") == row.result);
  }
  CHECK_THROWS_WITH(broadcast_shapes({2}, {3}, "add"), ContainsSubstring("[add]") && ContainsSubstring("[2] and [3]"));
}

TEST_CASE("element counts that do not fit are refused, not wrapped") {
  CHECK(numel_of({}) == 1);
  CHECK(numel_of({2, 0, 3}) == 0);
  CHECK_THROWS_AS(numel_of({1LL << 40, 1LL << 40}), Error);
  CHECK_THROWS_AS(numel_of({-1}), Error);
}

TEST_CASE("dims wrap once, and only once") {
  CHECK(wrap_dim(-1, 3, "t") == 2);
  CHECK(wrap_dim(0, 0, "t") == 0);
  CHECK(wrap_dim(-1, 0, "t") == 0);
  CHECK_THROWS_WITH(wrap_dim(3, 3, "sum"), ContainsSubstring("[sum]") && ContainsSubstring("got 3"));
  CHECK_THROWS_AS(wrap_dim(-4, 3, "t"), Error);
}

TEST_CASE("a ninth dimension is an error") { CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error); }
