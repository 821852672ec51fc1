// Loaders: order, batches, threads, exceptions, resuming.
#include "libamp/data/data_loader.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <set>
#include <thread>

#include "libamp/data/shuffle.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;
using data::DataLoader;

namespace {

data::TensorDataset numbers(std::int64_t n) { return data::TensorDataset({arange(n), arange(n)}); }

/// The numbers of one epoch, batch by batch.
std::vector<std::vector<double>> epoch_of(DataLoader& loader) {
  std::vector<std::vector<double>> batches;
  for (const auto& [input, target] : loader) {
    CHECK(input.to_vector() == target.to_vector());
    batches.push_back(input.to_vector());
  }
  return batches;
}

std::vector<double> flat(const std::vector<std::vector<double>>& batches) {
  std::vector<double> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

/// Counts how many examples were asked for and how many calls run at once; fails at `bad`.
class Watched : public data::Dataset {
 public:
  explicit Watched(std::int64_t n, std::int64_t bad = -1) : n_(n), bad_(bad) {}
  [[nodiscard]] std::int64_t size() const override { return n_; }
  [[nodiscard]] Tensors get(std::int64_t index) const override {
    ++asked;
    // The later of two neighbours is ready first.
    std::this_thread::sleep_for(std::chrono::microseconds(index % 2 == 0 ? 300 : 0));
    if (index == bad_) fail(ErrorCode::io, "Watched", "example " + std::to_string(index) + " is damaged");
    const Tensor value = scalar_tensor(static_cast<double>(index));
    return {value, value};
  }
  mutable std::atomic<std::int64_t> asked{0};

 private:
  std::int64_t n_, bad_;
};

}  // namespace

TEST_CASE("a loop whose loader begins another one ends with an error", "[data]") {
  for (const int workers : {0, 2}) {
    DataLoader loader(numbers(6), {.batch_size = 2, .num_workers = workers});
    int outer = 0, inner = 0;
    const std::string nested = error_message([&] {
      for ([[maybe_unused]] const auto& a : loader) {
        ++outer;
        for ([[maybe_unused]] const auto& b : loader) ++inner;
      }
    });
    CHECK(nested.find("another loop over this loader has begun; use one loader a loop") != std::string::npos);
    CHECK((outer == 1 && inner == 3));

    auto first = loader.begin();
    auto peek = loader.begin();
    CHECK(error_code([&] { ++first; }) == ErrorCode::runtime);
    CHECK(error_code([&] { (void)*first; }) == ErrorCode::runtime);
    CHECK(error_code([&] { (void)(first == loader.end()); }) == ErrorCode::runtime);
    CHECK((*peek)[0].defined());
    int left = 0;
    for (; peek != loader.end(); ++peek) ++left;
    CHECK(left == 3);
    CHECK(epoch_of(loader).size() == 3);
  }
}

TEST_CASE("batches come in order, the last one short or left out", "[data]") {
  DataLoader loader(numbers(7), {.batch_size = 3});
  CHECK(loader.size() == 3);
  CHECK(epoch_of(loader) == std::vector<std::vector<double>>{{0, 1, 2}, {3, 4, 5}, {6}});
  DataLoader full(numbers(7), {.batch_size = 3, .drop_last = true});
  CHECK(full.size() == 2);
  CHECK(epoch_of(full) == std::vector<std::vector<double>>{{0, 1, 2}, {3, 4, 5}});
  DataLoader small(numbers(2), {.batch_size = 3, .drop_last = true});
  CHECK(small.size() == 0);
  CHECK(epoch_of(small).empty());
  CHECK(epoch_of(small).empty());
}

TEST_CASE("shuffling gives each epoch an order of its own, the same for the same seed", "[data]") {
  DataLoader a(numbers(100), {.batch_size = 8, .shuffle = true, .seed = 1});
  DataLoader b(numbers(100), {.batch_size = 8, .shuffle = true, .seed = 1});
  DataLoader c(numbers(100), {.batch_size = 8, .shuffle = true, .seed = 2});
  std::vector<double> last;
  for (int epoch = 0; epoch < 3; ++epoch) {
    CHECK(a.epoch() == epoch);
    const std::vector<double> order = flat(epoch_of(a));
    CHECK(std::set<double>(order.begin(), order.end()).size() == 100);
    CHECK(order == flat(epoch_of(b)));
    CHECK(order != flat(epoch_of(c)));
    CHECK(order != last);
    last = order;
  }
}

TEST_CASE("the order of a seed and epoch never changes, since checkpoints rely on it", "[data]") {
  // SplitMix64's published first values for seed 1234567.
  data::SplitMix64 generator(1234567);
  CHECK(generator.next() == 6457827717110365317u);
  CHECK(generator.next() == 3203168211198807973u);
  CHECK(data::shuffled(8, 0, 0) == std::vector<std::int64_t>{1, 0, 6, 4, 3, 5, 2, 7});
  CHECK(data::shuffled(8, 0, 1) == std::vector<std::int64_t>{4, 5, 7, 6, 1, 2, 3, 0});
  CHECK(data::shuffled(8, 7, 0) == std::vector<std::int64_t>{1, 5, 4, 7, 3, 6, 0, 2});
  // Every place is as likely for every number: 4000 shuffles of 4, each count within 5 standard deviations of 1000.
  int counts[4][4] = {};
  for (std::uint64_t epoch = 0; epoch < 4000; ++epoch) {
    const auto order = data::shuffled(4, 3, epoch);
    for (std::size_t i = 0; i < 4; ++i) ++counts[i][order[i]];
  }
  for (const auto& row : counts)
    for (const int count : row) CHECK(std::abs(count - 1000) < 5 * 27.4);
}

TEST_CASE("workers change nothing but who makes the batches", "[data]") {
  DataLoader alone(numbers(103), {.batch_size = 4, .shuffle = true, .seed = 9});
  const auto first = epoch_of(alone), second = epoch_of(alone);
  for (const int workers : {1, 2, 5, 60})
    for (const int factor : {1, 3}) {
      DataLoader loader(
          numbers(103),
          {.batch_size = 4, .shuffle = true, .seed = 9, .num_workers = workers, .prefetch_factor = factor});
      CAPTURE(workers, factor);
      CHECK(epoch_of(loader) == first);
      CHECK(epoch_of(loader) == second);
    }
}

TEST_CASE("batches are made ahead, but no further than the window", "[data]") {
  const auto dataset = std::make_shared<Watched>(100);
  DataLoader loader(dataset, {.batch_size = 2, .num_workers = 2, .prefetch_factor = 2});
  auto at = loader.begin();
  // One taken, four waiting or being made.
  for (int i = 0; i < 2000 && dataset->asked < 10; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(dataset->asked == 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(dataset->asked == 10);
  ++at;
  for (int i = 0; i < 2000 && dataset->asked < 12; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(dataset->asked == 12);
  CHECK((*at)[0].to_vector() == std::vector<double>{2, 3});
}

TEST_CASE("a data set's exception arrives where its batch would have", "[data]") {
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    DataLoader loader(std::make_shared<Watched>(20, 9), {.batch_size = 2, .num_workers = workers});
    std::vector<double> seen;
    const std::string message = error_message([&] {
      for (const auto& [input, target] : loader) {
        const auto values = input.to_vector();
        seen.insert(seen.end(), values.begin(), values.end());
      }
    });
    CHECK(message == "[Watched] example 9 is damaged");
    CHECK(seen == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(loader.position() == 4);
    // It can be used on: the next loop is the next epoch, with the same fault.
    seen.clear();
    CHECK(error_code([&] {
            for (const auto& batch : loader) seen.push_back(batch[0].to_vector()[0]);
          }) == ErrorCode::io);
    CHECK(seen.size() == 4);
    CHECK(loader.epoch() == 1);
  }
}

TEST_CASE("a loop can be left at any batch, and a loader destroyed there", "[data]") {
  for (int leave = 0; leave < 6; ++leave) {
    const auto dataset = std::make_shared<Watched>(40);
    {
      DataLoader loader(dataset, {.batch_size = 4, .num_workers = 3});
      int count = 0;
      for (const auto& batch : loader) {
        CHECK(batch.size() == 2);
        if (count++ == leave) break;
      }
      if (leave == 2) {
        CHECK(flat(epoch_of(loader)).size() == 40);
        CHECK(loader.epoch() == 2);
      }
      if (leave == 3) {
        DataLoader moved = std::move(loader);
        CHECK(flat(epoch_of(moved)).size() == 40);
      }
    }
    const std::int64_t asked = dataset->asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(dataset->asked == asked);
  }
}

TEST_CASE("a loader goes on where its state was taken, also inside an epoch and at its end", "[data]") {
  const data::DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 11};
  for (int stop = 0; stop <= 14; ++stop) {
    DataLoader whole(numbers(21), options);
    std::vector<std::vector<double>> rest;
    std::map<std::string, Tensor> state = whole.state_dict();
    int taken = 0;
    for (int epoch = 0; epoch < 3; ++epoch)
      for (const auto& [input, target] : whole) {
        if (taken >= stop) rest.push_back(input.to_vector());
        if (++taken == stop) state = whole.state_dict();
      }
    data::DataLoaderOptions others = options;
    others.seed = 0;  // the state brings its own
    others.num_workers = 2;
    DataLoader resumed(numbers(21), others);
    resumed.load_state_dict(state);
    std::vector<std::vector<double>> got;
    while (resumed.epoch() < 3)
      for (const auto& [input, target] : resumed) got.push_back(input.to_vector());
    CAPTURE(stop);
    CHECK(got == rest);
  }
}

TEST_CASE("a state that does not fit is refused whole", "[data]") {
  DataLoader loader(numbers(21), {.batch_size = 4, .shuffle = true});
  auto state = loader.state_dict();
  const auto message = [&](const auto& bad) { return error_message([&] { loader.load_state_dict(bad); }); };
  CHECK(message(std::map<std::string, Tensor>{}).find("'epoch' is missing") != std::string::npos);
  auto wrong = state;
  wrong["position"] = tensor({7}, {.dtype = DType::int64});
  CHECK(message(wrong).find("positions from 0 to 6") != std::string::npos);
  wrong = state;
  wrong["epoch"] = zeros({});
  wrong["other"] = zeros({});
  CHECK(message(wrong).find("'epoch': got float32[], need one int64; 'other' is not known") != std::string::npos);
  DataLoader other(numbers(20), {.batch_size = 5, .shuffle = false});
  const std::string all = error_message([&] { other.load_state_dict(state); });
  CAPTURE(all);
  for (const char* says : {"batch_size: the state has 4, this loader 5", "dataset_size: the state has 21", "shuffle:"})
    CHECK(all.find(says) != std::string::npos);
}

TEST_CASE("options that cannot be are refused", "[data]") {
  const auto code = [](const data::DataLoaderOptions& options) {
    return error_code([&] { DataLoader(numbers(3), options); });
  };
  CHECK(code({.batch_size = 0}) == ErrorCode::value);
  CHECK(code({.num_workers = -1}) == ErrorCode::value);
  CHECK(code({.prefetch_factor = 0}) == ErrorCode::value);
  CHECK(code({.num_workers = 2, .prefetch_factor = std::numeric_limits<int>::max()}) == ErrorCode::value);
  CHECK(error_code([] { DataLoader(std::shared_ptr<const data::Dataset>()); }) == ErrorCode::value);
}
