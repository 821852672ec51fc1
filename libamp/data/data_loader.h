// Batches of a data set, epoch by epoch: order, collating, making them ahead on threads, and resuming in mid-epoch.
// torch.utils.data.DataLoader in C++.
#pragma once
#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libamp/data/dataset.h"

namespace amp::data {

/// Names and defaults of PyTorch's arguments.
struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;  ///< each epoch in an order of its own (see shuffle.h)
  std::uint64_t seed = 0;
  bool drop_last = false;   ///< leave out a last batch that is not full
  int num_workers = 0;      ///< threads that make batches ahead; 0: made when they are asked for
  int prefetch_factor = 2;  ///< batches each worker may be ahead
};

/// `for (const auto& [input, target] : loader)` runs over one epoch; each such loop is the next one. Batches are the
/// same for any number of workers. An exception of the data set arrives where its batch would have. Leaving a loop
/// early is fine: the threads end with the next loop, or with the loader. A loader has one loop at a time: once begin()
/// was called again, the iterators from before throw Error(runtime) wherever they are used.
///
/// state_dict() inside a loop names the batch after the one at hand; a loader of the same data set and options that
/// loads it begins its next loop there. Not thread-safe.
class DataLoader {
 public:
  /// Throws Error(value) for a batch size or prefetch factor below 1, a negative number of workers, more than 2^20
  /// batches ahead, and no data set.
  explicit DataLoader(std::shared_ptr<const Dataset> dataset, const DataLoaderOptions& options = {});
  template <std::derived_from<Dataset> D>
  explicit DataLoader(D dataset, const DataLoaderOptions& options = {})
      : DataLoader(std::shared_ptr<const Dataset>(std::make_shared<D>(std::move(dataset))), options) {}
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;
  ~DataLoader();

  /// Batches of an epoch: len(loader).
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] const Dataset& dataset() const;
  /// The epoch of the loop that runs, or of the next one; from 0.
  [[nodiscard]] std::int64_t epoch() const;
  /// Batches of this epoch that were handed out.
  [[nodiscard]] std::int64_t position() const;

  /// epoch and position, and what they depend on: dataset_size, batch_size, drop_last, shuffle, seed. 0-dim int64.
  [[nodiscard]] std::map<std::string, Tensor> state_dict() const;
  /// Takes epoch, position and seed from the state. Error(value), with nothing changed, naming all entries that are
  /// missing, unknown or no numbers, and all options that differ from this loader's.
  void load_state_dict(const std::map<std::string, Tensor>& state);

  class Epoch;
  /// Input iterator over one epoch; a copy is at the same place.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    const Batch& operator*() const;
    const Batch* operator->() const { return &**this; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& at, std::default_sentinel_t) { return at.at_end(); }

   private:
    friend DataLoader;
    Iterator(Epoch* epoch, std::int64_t loop) : epoch_(epoch), loop_(loop) {}
    [[nodiscard]] bool at_end() const;
    [[nodiscard]] Epoch& current() const;
    Epoch* epoch_;
    std::int64_t loop_;  // the loader's count of loops when this one began
  };
  /// Begins the next epoch, or goes on with the one that was loaded. Ends a loop that was left before.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<Epoch> epoch_;
};

}  // namespace amp::data
