// The ops that change tensors in place for scaler and optimizers, called directly: strides, aliasing blocks, refusals.
// Rows: amp_foreach_non_finite_check_and_unscale_, amp_update_scale_, sgd_step_, adam_step_,
// adagrad_step_, rmsprop_step_.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/dispatch/run_op.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

// Longer than one block of the loops, so that block borders are crossed.
constexpr std::int64_t kRows = 37, kColumns = 53;

Tensor numbers(DType dtype) {
  return (arange(kRows * kColumns).to(DType::float32) * 0.0625 - 20.0).view({kRows, kColumns}).to(dtype);
}
// The same values behind other strides.
Tensor transposed_storage(const Tensor& t) { return t.t().contiguous().t(); }

}  // namespace

TEST_CASE("amp_foreach_non_finite_check_and_unscale_ finds each planted value and says in which tensor", "[backend]") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (const bool strided : {false, true})
      for (const std::int64_t at : {-1, 0, 511, 512, 1960}) {
        CAPTURE(name(dtype), strided, at);
        Tensor clean = numbers(dtype), planted = strided ? transposed_storage(numbers(dtype)) : numbers(dtype);
        if (at >= 0) planted.select(0, at / kColumns).select(0, at % kColumns).fill_(-kInf);
        const Tensor found = zeros({}), scale = scalar_tensor(4);
        const Tensors flags = run_op({OpId::amp_foreach_non_finite_check_and_unscale_,
                                      {clean, planted, found, scale},
                                      {{"per_tensor", true}},
                                      {}});
        CHECK(found.item() == (at >= 0 ? 1 : 0));
        CHECK(flags[0].to_vector() == std::vector<double>{0, at >= 0 ? 1.0 : 0.0});
        CHECK(clean.to_vector() == (numbers(dtype).to(DType::float64) * 0.25).to(dtype).to_vector());
      }
}

TEST_CASE("amp_foreach_non_finite_check_and_unscale_ refuses what it has no arithmetic for", "[backend]") {
  const Tensor found = zeros({}), scale = scalar_tensor(4);
  const auto call = [&](const Tensor& g, const Tensor& f, const Tensor& s) {
    return error_code([&] { run_op({OpId::amp_foreach_non_finite_check_and_unscale_, {g, f, s}, {}, {}}); });
  };
  CHECK(call(ones({2}, {.dtype = DType::int64}), found, scale) == ErrorCode::not_implemented);
  CHECK(call(ones({2}, {.dtype = DType::float8_e5m2}), found, scale) == ErrorCode::not_implemented);
  CHECK(call(ones({2}), zeros({2}), scale) == ErrorCode::runtime);
  CHECK(call(ones({2}), found, scalar_tensor(4, {.dtype = DType::float64})) == ErrorCode::runtime);
}

TEST_CASE("amp_update_scale_ takes any found_inf but zero as found", "[backend]") {
  for (const double found : {0.0, 1.0, 2.0, kNaN}) {
    const Tensor scale = scalar_tensor(8), tracker = scalar_tensor(3, {.dtype = DType::int32});
    run_op(
        {OpId::amp_update_scale_, {scale, tracker, scalar_tensor(found)}, {{"growth_interval", std::int64_t{9}}}, {}});
    CHECK(scale.item() == (found == 0 ? 8 : 4));
    CHECK(tracker.item() == (found == 0 ? 4 : 0));
  }
}

TEST_CASE("sgd_step_ gives the same bits whatever the strides", "[backend]") {
  const auto run = [](bool strided) {
    const auto arrange = [&](const Tensor& t) { return strided ? transposed_storage(t) : t.clone(); };
    const Tensor p = arrange(numbers(DType::float32)), g = arrange(numbers(DType::float32) * 0.5);
    const Tensor buffer = arrange(numbers(DType::float32) * 0.125);
    run_op({OpId::sgd_step_,
            {p, g, buffer},
            {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.01}, {"nesterov", true}},
            {}});
    return std::pair(p.to_vector(), buffer.to_vector());
  };
  CHECK(run(false) == run(true));
}

TEST_CASE("updates write the parameter, its state and nothing else", "[backend]") {
  const Tensor p = numbers(DType::float32), g = numbers(DType::float32);
  run_op({OpId::sgd_step_, {p, g}, {{"lr", 0.5}, {"weight_decay", 0.5}, {"maximize", true}}, {}});
  CHECK(g.to_vector() == numbers(DType::float32).to_vector());
  const Tensor m = zeros({kRows, kColumns}), v = zeros({kRows, kColumns}), step = zeros({});
  run_op({OpId::adam_step_, {p, g, m, v, step}, {{"lr", 0.5}}, {}});
  CHECK(g.to_vector() == numbers(DType::float32).to_vector());
  CHECK(step.item() == 1);
  CHECK(p.version() == 2);
  const Tensor sum = zeros({kRows, kColumns});
  run_op({OpId::adagrad_step_, {p, g, sum, step}, {{"lr", 0.5}}, {}});
  run_op({OpId::rmsprop_step_, {p, g, sum, step}, {{"lr", 0.5}}, {}});
  CHECK(g.to_vector() == numbers(DType::float32).to_vector());
  CHECK(step.item() == 3);
  CHECK(p.version() == 4);
}

TEST_CASE("adagrad_step_ and rmsprop_step_ give the same bits whatever the strides", "[backend]") {
  for (const OpId op : {OpId::adagrad_step_, OpId::rmsprop_step_}) {
    const auto run = [&](bool strided) {
      const auto arrange = [&](const Tensor& t) { return strided ? transposed_storage(t) : t.clone(); };
      const Tensor p = arrange(numbers(DType::float32)), g = arrange(numbers(DType::float32) * 0.5);
      const Tensor state = arrange(numbers(DType::float32) * 0.125 + 20.0), step = zeros({});  // not negative
      run_op({op, {p, g, state, step}, {{"lr", 0.1}, {"weight_decay", 0.01}}, {}});
      return std::pair(p.to_vector(), state.to_vector());
    };
    CHECK(run(false) == run(true));
    CHECK(run(false).first != numbers(DType::float32).to_vector());
  }
}

TEST_CASE("updates refuse operands that do not fit", "[backend]") {
  const Tensor p = ones({2}), g = ones({3}), step = zeros({});
  CHECK(error_code([&] { run_op({OpId::sgd_step_, {p, g}, {}, {}}); }) == ErrorCode::runtime);
  CHECK(error_code([&] { run_op({OpId::sgd_step_, {p, p, g}, {}, {}}); }) == ErrorCode::runtime);
  CHECK(error_code([&] { run_op({OpId::adam_step_, {p, p, p, p}, {}, {}}); }) == ErrorCode::type);
  CHECK(error_code([&] { run_op({OpId::adam_step_, {p, p, p, p, ones({2})}, {}, {}}); }) == ErrorCode::runtime);
  for (const OpId op : {OpId::adagrad_step_, OpId::rmsprop_step_}) {
    CHECK(error_code([&] { run_op({op, {p, p, p}, {}, {}}); }) == ErrorCode::type);
    CHECK(error_code([&] { run_op({op, {p, p, p, ones({2})}, {}, {}}); }) == ErrorCode::runtime);
    CHECK(error_code([&] { run_op({op, {p, p, g, step}, {}, {}}); }) == ErrorCode::runtime);
  }
  CHECK(error_code([&] {
          run_op({OpId::sgd_step_, {step.to(DType::int64), step.to(DType::int64)}, {}, {}});
        }) == ErrorCode::not_implemented);
}
