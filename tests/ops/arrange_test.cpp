// Elements in other places, scans that say where, numbers by rank, windows off the grid: known values and edges.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;
using V = std::vector<double>;

namespace {

V numbers(const Tensor& t) { return t.to_vector(); }
Tensor row(std::initializer_list<double> of) { return tensor(of, {.dtype = kFloat64}); }
Tensor counting(const Shape& sizes) { return reshape(arange(0.0, static_cast<double>(numel_of(sizes)), 1.0), sizes); }
double worst(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() ? max(abs(a - b)).item() : std::numeric_limits<double>::infinity();
}

}  // namespace

TEST_CASE("flip, roll, rot90, repeat and tile") {
  const Tensor x = counting({2, 3});
  CHECK(numbers(flip(x, {1})) == V{2, 1, 0, 5, 4, 3});
  CHECK(numbers(flip(transpose(x, 0, 1), {0, 1})) == V{5, 2, 4, 1, 3, 0});
  CHECK(numbers(roll(x, {1}, {1})) == V{2, 0, 1, 5, 3, 4});
  CHECK(numbers(roll(x, {-2})) == V{2, 3, 4, 5, 0, 1});
  CHECK(numbers(roll(x, {1, 1}, {0, 1})) == V{5, 3, 4, 2, 0, 1});
  CHECK(numbers(rot90(x)) == V{2, 5, 1, 4, 0, 3});
  CHECK(numbers(rot90(x, 2)) == numbers(flip(x, {0, 1})));
  CHECK(worst(rot90(rot90(x), -1), x) == 0);
  CHECK(numbers(repeat(row({1, 2}), {2, 2})) == V{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(repeat(x, {2, 1, 3}).sizes() == Shape{2, 2, 9});
  CHECK(numbers(tile(x, {2})) == V{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(numbers(repeat_interleave(x, 2, 1)) == V{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(numbers(repeat_interleave(row({1, 2, 3}), tensor({0, 2, 1}, {.dtype = kInt64}))) == V{2, 2, 3});
  CHECK_THROWS_WITH(flip(x, {0, 0}), ContainsSubstring("more than once"));
  CHECK_THROWS_AS(repeat(x, {2}), Error);
  CHECK_THROWS_AS(repeat(x, {std::int64_t{1} << 62, 8}), Error);
  CHECK_THROWS_AS(repeat(x, {1, std::numeric_limits<std::int64_t>::max()}), Error);
  CHECK_THROWS_AS(repeat(x, {1, std::int64_t{1} << 50}), Error);
  CHECK(repeat(row({1, 2}), {5000}).sizes() == Shape{10000});
  CHECK(sum(repeat(row({1, 2}), {5000})).item() == 15000);
}

TEST_CASE("diagonals, grids, dims in other places") {
  const Tensor x = counting({3, 4});
  CHECK(numbers(diagonal(x)) == V{0, 5, 10});
  CHECK(numbers(diagonal(x, 2)) == V{2, 7});
  CHECK(numbers(diagonal(x, -1)) == V{4, 9});
  CHECK(diagonal(x, 9).numel() == 0);
  CHECK(numbers(diag(row({1, 2}), 1)) == V{0, 1, 0, 0, 0, 2, 0, 0, 0});
  CHECK(numbers(diag(x, 1)) == V{1, 6, 11});
  CHECK(numbers(diag_embed(counting({2, 2}))) == V{0, 0, 0, 1, 2, 0, 0, 3});
  CHECK(trace(x).item() == 15);
  const Tensor base = counting({3, 3});
  diagonal(base).fill_(-1);  // a view
  CHECK(numbers(base) == V{-1, 1, 2, 3, -1, 5, 6, 7, -1});
  const Tensors grid = meshgrid({row({1, 2}), row({3, 4, 5})});
  CHECK(numbers(grid[0]) == V{1, 1, 1, 2, 2, 2});
  CHECK(numbers(grid[1]) == V{3, 4, 5, 3, 4, 5});
  CHECK(meshgrid({row({1, 2}), row({3, 4, 5})}, "xy")[0].sizes() == Shape{3, 2});
  CHECK(movedim(zeros({2, 3, 4}), 0, -1).sizes() == Shape{3, 4, 2});
  CHECK(movedim(zeros({2, 3, 4}), {0, 1}, {2, 0}).sizes() == Shape{3, 4, 2});
  CHECK(unflatten(zeros({2, 12}), 1, {3, -1}).sizes() == Shape{2, 3, 4});
  CHECK(numbers(slice(row({0, 1, 2, 3, 4}), 0, 1, -1)) == V{1, 2, 3});
  CHECK(numbers(slice(row({0, 1, 2, 3, 4}), 0, 0, 99, 2)) == V{0, 2, 4});
  CHECK(broadcast_tensors({zeros({3, 1}), zeros({4})})[1].sizes() == Shape{3, 4});
}

TEST_CASE("padding") {
  const Tensor x = reshape(row({1, 2, 3}), {1, 1, 3});
  CHECK(numbers(pad(x, {2, 1})) == V{0, 0, 1, 2, 3, 0});
  CHECK(numbers(pad(x, {-1, 1}, "constant", 9)) == V{2, 3, 9});
  CHECK(numbers(pad(x, {2, 1}, "reflect")) == V{3, 2, 1, 2, 3, 2});
  CHECK(numbers(pad(x, {2, 1}, "replicate")) == V{1, 1, 1, 2, 3, 3});
  CHECK(numbers(pad(x, {2, 1}, "circular")) == V{2, 3, 1, 2, 3, 1});
  CHECK(numbers(pad(counting({1, 2, 2}).to(kInt64), {1, 0, 0, 1})) == V{0, 0, 1, 0, 2, 3, 0, 0, 0});
  CHECK_THROWS_WITH(reflection_pad1d(x, {3, 0}), ContainsSubstring("[reflection_pad1d]"));
  CHECK_THROWS_WITH(pad(x, {2, 1}, "mirror"), ContainsSubstring("'mirror'"));
  CHECK_THROWS_WITH(pad(x, {-2, -2}), ContainsSubstring("cut off"));
}

TEST_CASE("unfold and fold") {
  const Tensor x = values({2, 3, 5, 4}), w = values({4, 3, 3, 2}, 3);
  // A convolution is the product of the kernel with the columns.
  const Tensor columns = unfold(x, {3, 2}, 1, 1, 2);
  const Tensor product = matmul(reshape(w, {4, 18}), columns);
  CHECK(worst(reshape(product, {2, 4, 3, 3}), conv2d(x, w, {}, 2, SizeList(1).values())) < 1e-12);
  // fold sums the columns back: each element as often as windows read it.
  const Tensor counts = fold(unfold(ones_like(x), 2), {5, 4}, 2);
  CHECK(worst(fold(unfold(x, 2), {5, 4}, 2), x * counts) < 1e-12);
  CHECK_THROWS_AS(fold(columns, {9, 9}, 2), Error);
  const Tensor leaf = values({1, 1, 4, 3});
  leaf.requires_grad_();
  CHECK(gradgradcheck(
            [](const Tensors& i) {
              return fold(unfold(i[0] * i[0], 2, 1, 1), {4, 3}, 2, 1, 1);
            },
            {leaf}) == "");
}

TEST_CASE("pixels to channels and back; a number scattered") {
  const Tensor x = counting({1, 4, 1, 2});
  CHECK(numbers(pixel_shuffle(x, 2)) == V{0, 2, 1, 3, 4, 6, 5, 7});
  const Tensor image = values({2, 3, 4, 6});
  CHECK(worst(pixel_shuffle(pixel_unshuffle(image, 2), 2), image) == 0);
  CHECK_THROWS_AS(pixel_shuffle(image, 2), Error);
  CHECK(numbers(scatter(row({1, 2, 3}), 0, tensor({2, 0}, {.dtype = kInt64}), 9)) == V{9, 2, 9});
}

TEST_CASE("scans that say where, and numbers by rank") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = row({1, 3, 3, kNan, 2});
  CHECK(numbers(cummax(x, 0).indices) == V{0, 1, 2, 3, 3});
  CHECK(std::isnan(cummax(x, 0).values.to_vector()[4]));
  CHECK(numbers(cummin(row({2, 1, 1, 5}), 0).indices) == V{0, 1, 2, 2});
  const Tensor logs = logcumsumexp(row({-1000, 0, 1000}), 0);
  CHECK(numbers(logs) == V{-1000, 0, 1000});
  CHECK(std::abs(logcumsumexp(row({0, 0, 0}), 0).to_vector()[2] - std::log(3)) < 1e-14);
  CHECK(kthvalue(row({5, 1, 4}), 2).values.item() == 4);
  CHECK(kthvalue(row({5, 1, 4}), 2).indices.item() == 2);
  CHECK(median(row({4, 1, 3, 2})).item() == 2);
  CHECK(std::isnan(median(x).item()));
  CHECK(nanmedian(x).item() == 2);
  CHECK_THROWS_WITH(kthvalue(x, 6), ContainsSubstring("[1, 5]"));
  CHECK(numbers(diff(row({1, 4, 9, 16}), 2)) == V{2, 2});
  CHECK(numbers(argsort(row({3, 1, 2}))) == V{1, 2, 0});
  CHECK(numbers(bincount(tensor({1, 3, 1}, {.dtype = kInt64}))) == V{0, 2, 0, 1});
  CHECK(nansum(x).item() == 9);
  CHECK(nanmean(x).item() == 2.25);
  CHECK(count_nonzero(row({0, 1, 2})).item() == 2);
}

TEST_CASE("quantiles") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = row({4, 1, 3, 2});
  CHECK(quantile(x, 0.5).item() == 2.5);
  CHECK(quantile(x, 0.5, {}, false, "lower").item() == 2);
  CHECK(quantile(x, 0.5, {}, false, "higher").item() == 3);
  CHECK(quantile(x, 0.4, {}, false, "nearest").item() == 2);
  CHECK(quantile(x, 0.6, {}, false, "midpoint").item() == 2.5);
  CHECK(numbers(quantile(x, row({0, 0.25, 1}))) == V{1, 1.75, 4});
  CHECK(quantile(values({3, 4}), row({0.1, 0.9}), 1, true).sizes() == Shape{2, 3, 1});
  CHECK(std::isnan(quantile(row({1, kNan}), 0.5).item()));
  CHECK(nanquantile(row({1, kNan, 3}), 0.5).item() == 2);
  CHECK(std::isnan(nanquantile(row({kNan}), 0.5).item()));
  CHECK_THROWS_WITH(quantile(x, 1.5), ContainsSubstring("[0, 1]"));
  CHECK_THROWS_WITH(quantile(x.half(), 0.5), ContainsSubstring("float32 or float64"));
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(quantile(x.to(kBFloat16), 0.5).dtype() == kFloat32);
}

TEST_CASE("searching and taking") {
  const Tensor sorted = row({1, 3, 3, 5});
  CHECK(numbers(searchsorted(sorted, row({0, 3, 6}))) == V{0, 1, 4});
  CHECK(numbers(bucketize(row({0, 3, 6}), sorted, true)) == V{0, 3, 4});
  CHECK(numbers(searchsorted(reshape(row({1, 2, 10, 20}), {2, 2}), reshape(row({2, 15}), {2, 1}))) == V{1, 1});
  const Tensor x = counting({2, 3});
  CHECK(numbers(take(x, tensor({5, 0}, {.dtype = kInt64}))) == V{5, 0});
  CHECK(numbers(take_along_dim(x, argsort(x, 1, true), 1)) == V{2, 1, 0, 5, 4, 3});
  CHECK(numbers(index_fill(x, 1, tensor({0, 2}, {.dtype = kInt64}), -1)) == V{-1, 1, -1, -1, 4, -1});
}

TEST_CASE("pooling over windows off the grid, and back") {
  const Tensor x = counting({1, 1, 4, 4});
  const auto [maxima, where] = adaptive_max_pool2d(x, 3);
  CHECK(numbers(maxima) == V{5, 6, 7, 9, 10, 11, 13, 14, 15});
  CHECK(numbers(where) == numbers(maxima));
  CHECK(numbers(adaptive_max_pool1d(reshape(row({1, 5, 2}), {1, 1, 3}), 2).first) == V{5, 5});
  // alpha = (4 - 2) / (2 - 1) = 2 from 0; and the last window ends with the input.
  CHECK(numbers(fractional_max_pool2d(x, 2, 2, zeros({1, 1, 2})).first) == V{5, 7, 13, 15});
  CHECK_THROWS_WITH(fractional_max_pool2d(x, 3, 3, zeros({1, 1, 2})), ContainsSubstring("do not fit"));
  const auto [pooled, indices] = max_pool2d_with_indices(x, 2);
  CHECK(numbers(max_unpool2d(pooled, indices, 2)) == V{0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15});
  CHECK(max_unpool2d(pooled, indices, 2, 2, 0, {5, 4}).sizes() == Shape{1, 1, 5, 4});
  const auto [line, at] = max_pool1d_with_indices(reshape(row({3, 1, 2, 4}), {1, 1, 4}), 2);
  CHECK(numbers(max_unpool1d(line, at, 2)) == V{3, 0, 0, 4});
  const auto [cube, inside] = max_pool3d_with_indices(values({1, 1, 2, 2, 2}), 2);
  CHECK(max_unpool3d(cube, inside, 2).sizes() == Shape{1, 1, 2, 2, 2});
  CHECK(std::abs(lp_pool1d(reshape(row({3, 4}), {1, 1, 2}), 2, 2).item() - 5) < 1e-12);
  CHECK(std::abs(lp_pool2d(x + 1.0, 1, 4).item() - 136) < 1e-3);
}

TEST_CASE("resizing by pixel centres and with antialiasing") {
  const Tensor line = reshape(row({0, 1, 2, 3, 4}), {1, 1, 5});
  CHECK(numbers(interpolate(line, 3)) == V{0, 1, 3});
  CHECK(numbers(interpolate(line, 3, "nearest-exact")) == V{0, 2, 4});
  const Tensor image = values({1, 2, 6, 6});
  for (const char* mode : {"bilinear", "bicubic"}) {
    // Nothing shrinks: bilinear is what it is without antialiasing; constants stay in any size.
    CHECK(worst(interpolate(ones_like(image), {3, 11}, mode, false, true), ones({1, 2, 3, 11}, {.dtype = kFloat64})) <
          1e-12);
    CHECK(worst(interpolate(image, 6, mode, false, true), image) < 1e-12);
  }
  CHECK(worst(interpolate(image, 12, "bilinear", false, true), interpolate(image, 12, "bilinear")) < 1e-12);
  // To a third: the triangle reaches three pixels to each side of the centre, pixel 1: weights 2/3, 1, 2/3, 1/3 and
  // those beyond the edge left out, brought to one.
  const Tensor wide = reshape(row({1, 0, 0, 0, 0, 0, 0, 0, 0}), {1, 1, 1, 9});
  CHECK(std::abs(interpolate(expand(wide, {1, 1, 9, 9}), {9, 3}, "bilinear", false, true).to_vector()[0] -
                 (2.0 / 3) / (2.0 / 3 + 1 + 2.0 / 3 + 1.0 / 3)) < 1e-12);
  CHECK_THROWS_WITH(interpolate(line, 3, "linear", false, true), ContainsSubstring("antialias"));
}
