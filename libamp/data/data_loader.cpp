// Where a loader is in its epochs, and the batches from there.
#include "libamp/data/data_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "libamp/data/prefetch.h"
#include "libamp/data/shuffle.h"
#include "libamp/ops/create.h"

namespace amp::data {
namespace {

// Batches made ahead: more is a mistake, and room for them is taken at once.
constexpr int kMostAhead = 1 << 20;

Tensor number(std::int64_t value) { return from_memory(&value, {}, DType::int64); }

}  // namespace

/// The loader's state; its own object, so that iterators survive a move of the loader.
class DataLoader::Epoch {
 public:
  Epoch(std::shared_ptr<const Dataset> dataset, const DataLoaderOptions& options)
      : dataset_(std::move(dataset)), options_(options) {
    const auto need = [](bool holds, const char* option, std::int64_t got, const char* what) {
      if (!holds) fail(ErrorCode::value, "DataLoader", fmt::format("{}: got {}, need {}", option, got, what));
    };
    if (!dataset_) fail(ErrorCode::value, "DataLoader", "got no data set");
    need(options.batch_size >= 1, "batch_size", options.batch_size, "1 or more");
    need(options.num_workers >= 0, "num_workers", options.num_workers, "0 or more");
    need(options.prefetch_factor >= 1, "prefetch_factor", options.prefetch_factor, "1 or more");
    need(options.num_workers == 0 || options.prefetch_factor <= kMostAhead / options.num_workers, "prefetch_factor",
         options.prefetch_factor, "num_workers * prefetch_factor of at most 1048576");
    size_ = dataset_->size();
  }

  [[nodiscard]] std::int64_t batches() const {
    return (size_ + (options_.drop_last ? 0 : options_.batch_size - 1)) / options_.batch_size;
  }

  void begin() {
    ++loop_;
    close();
    if (running_) {
      ++epoch_;
      position_ = 0;
    }
    running_ = true;
    if (options_.shuffle) order_ = shuffled(size_, options_.seed, static_cast<std::uint64_t>(epoch_));
    const std::int64_t batches = this->batches();
    if (options_.num_workers > 0 && position_ < batches)
      ahead_ = std::make_unique<Prefetch>(position_, batches, options_.num_workers,
                                          std::int64_t{options_.num_workers} * options_.prefetch_factor,
                                          [this](std::int64_t batch) { return make(batch); });
    advance();
  }

  void advance() {
    // Given back before the next is made, so that no two are held.
    batch_ = Batch();
    if (position_ == batches()) {
      close();
      running_ = false;
      ++epoch_;
      position_ = 0;
      at_end_ = true;
      return;
    }
    at_end_ = true;  // a loop that an exception leaves is over, whatever its owner does then
    try {
      batch_ = Batch(ahead_ ? ahead_->next() : make(position_));
    } catch (...) {
      close();
      throw;
    }
    ++position_;
    at_end_ = false;
  }

  [[nodiscard]] std::map<std::string, std::int64_t> identity() const {
    return {{"dataset_size", size_},
            {"batch_size", options_.batch_size},
            {"drop_last", options_.drop_last},
            {"shuffle", options_.shuffle}};
  }

  void load(std::int64_t epoch, std::int64_t position, std::uint64_t seed) {
    close();
    epoch_ = epoch;
    position_ = position;
    options_.seed = seed;
    running_ = false;
  }

  [[nodiscard]] const Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
  [[nodiscard]] std::int64_t loop() const { return loop_; }
  [[nodiscard]] const Batch& batch() const { return batch_; }
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  void close() {
    ahead_.reset();
    batch_ = Batch();
  }

  /// Called by the workers too: reads only what does not change while they run.
  [[nodiscard]] Tensors make(std::int64_t batch) const {
    const std::int64_t first = batch * options_.batch_size, last = std::min(size_, first + options_.batch_size);
    if (options_.shuffle)
      return dataset_->get_batch(
          std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(last - first));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = first + static_cast<std::int64_t>(i);
    return dataset_->get_batch(rows);
  }

  std::shared_ptr<const Dataset> dataset_;
  DataLoaderOptions options_;
  std::int64_t size_ = 0;
  std::int64_t epoch_ = 0, position_ = 0;
  std::int64_t loop_ = 0;  // counts the loops that have begun
  bool running_ = false;   // a loop has begun this epoch
  bool at_end_ = true;
  std::vector<std::int64_t> order_;
  Batch batch_;
  std::unique_ptr<Prefetch> ahead_;
};

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const DataLoaderOptions& options)
    : epoch_(std::make_unique<Epoch>(std::move(dataset), options)) {}
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;
DataLoader::~DataLoader() = default;

std::int64_t DataLoader::size() const { return epoch_->batches(); }
const Dataset& DataLoader::dataset() const { return epoch_->dataset(); }
std::int64_t DataLoader::epoch() const { return epoch_->epoch(); }
std::int64_t DataLoader::position() const { return epoch_->position(); }

DataLoader::Iterator DataLoader::begin() {
  epoch_->begin();
  return Iterator(epoch_.get(), epoch_->loop());
}

DataLoader::Epoch& DataLoader::Iterator::current() const {
  if (loop_ != epoch_->loop())
    fail(ErrorCode::runtime, "DataLoader",
         "another loop over this loader has begun; use one loader a loop: got an iterator of loop " +
             std::to_string(loop_) + ", need loop " + std::to_string(epoch_->loop()));
  return *epoch_;
}
const Batch& DataLoader::Iterator::operator*() const { return current().batch(); }
DataLoader::Iterator& DataLoader::Iterator::operator++() {
  current().advance();
  return *this;
}
bool DataLoader::Iterator::at_end() const { return current().at_end(); }

std::map<std::string, Tensor> DataLoader::state_dict() const {
  std::map<std::string, Tensor> state;
  for (const auto& [name, value] : epoch_->identity()) state[name] = number(value);
  state["epoch"] = number(epoch());
  state["position"] = number(position());
  state["seed"] = number(static_cast<std::int64_t>(epoch_->seed()));
  return state;
}

void DataLoader::load_state_dict(const std::map<std::string, Tensor>& state) {
  std::string wrong;
  std::map<std::string, std::int64_t> values;
  const auto own = state_dict();
  for (const auto& [name, tensor] : state) {
    if (!own.contains(name))
      wrong += fmt::format("; '{}' is not known", name);
    else if (!tensor.defined() || tensor.dtype() != DType::int64 || tensor.numel() != 1)
      wrong += fmt::format("; '{}': got {}, need one int64", name, describe(tensor));
    else
      values[name] = tensor.item_as_int64();
  }
  for (const auto& [name, tensor] : own)
    if (!state.contains(name)) wrong += fmt::format("; '{}' is missing", name);
  for (const auto& [name, value] : epoch_->identity())
    if (const auto found = values.find(name); found != values.end() && found->second != value)
      wrong += fmt::format("; {}: the state has {}, this loader {}", name, found->second, value);
  if (wrong.empty() && (values["epoch"] < 0 || values["position"] < 0 || values["position"] > size()))
    wrong = fmt::format("; epoch {}, position {}: need epochs from 0, and positions from 0 to {}", values["epoch"],
                        values["position"], size());
  if (!wrong.empty()) fail(ErrorCode::value, "DataLoader::load_state_dict", "the state does not fit" + wrong);
  epoch_->load(values["epoch"], values["position"], static_cast<std::uint64_t>(values["seed"]));
}

}  // namespace amp::data
