// Data sets: examples by number. What a DataLoader makes batches of.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "libamp/core/tensor.h"
#include "libamp/io/csv.h"
#include "libamp/io/idx.h"

namespace amp::data {

/// The tensors of a batch, each [batch, ...], in the order of the data set: as a rule input and target.
/// `for (const auto& [input, target] : loader)` takes the two; a batch of another number is indexed.
class Batch {
 public:
  Batch() = default;
  explicit Batch(Tensors tensors) : tensors_(std::move(tensors)) {}
  [[nodiscard]] std::size_t size() const { return tensors_.size(); }  ///< of tensors
  /// Throws Error(index).
  [[nodiscard]] const Tensor& operator[](std::size_t i) const;
  [[nodiscard]] const Tensors& tensors() const { return tensors_; }
  /// For structured bindings. Throws Error(value) for a batch of another number of tensors than two.
  template <std::size_t I>
  [[nodiscard]] const Tensor& get() const {
    need_pair();
    return tensors_[I];
  }

 private:
  void need_pair() const;
  Tensors tensors_;
};

/// Examples by number. get must give the same for the same index, and be callable from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;  ///< of examples
  /// The tensors of one example, index in [0, size()).
  [[nodiscard]] virtual Tensors get(std::int64_t index) const = 0;
  /// The examples of these indices as one batch; by default collated from get.
  [[nodiscard]] virtual Tensors get_batch(std::span<const std::int64_t> indices) const;
};

/// Stacks the tensors of examples: n of [a, b] become [n, a, b]. All examples must have as many tensors, with the same
/// dtypes and sizes: Error(runtime) telling the first that differs.
Tensors collate(const std::vector<Tensors>& examples);

/// Example i is row i of each tensor. torch.utils.data.TensorDataset.
class TensorDataset : public Dataset {
 public:
  /// Throws Error(value) for no tensors, tensors without dims, and different numbers of rows.
  explicit TensorDataset(const Tensors& tensors);
  [[nodiscard]] std::int64_t size() const override { return tensors_.front().size(0); }
  [[nodiscard]] Tensors get(std::int64_t index) const override;
  [[nodiscard]] Tensors get_batch(std::span<const std::int64_t> indices) const override;
  [[nodiscard]] const Tensors& tensors() const { return tensors_; }

 private:
  Tensors tensors_;
};

/// A pair of IDX files, as MNIST's: float32 [1, height, width], pixel x (1 / 255), and int64 []. Images stay bytes
/// until they are asked for.
class IdxDataset : public Dataset {
 public:
  /// See io::ImageDataset.
  IdxDataset(const std::string& dir, const std::string& prefix) : images_(dir, prefix) {}
  [[nodiscard]] std::int64_t size() const override { return images_.size(); }
  [[nodiscard]] Tensors get(std::int64_t index) const override;
  [[nodiscard]] Tensors get_batch(std::span<const std::int64_t> indices) const override;
  [[nodiscard]] const io::ImageDataset& images() const { return images_; }

 private:
  io::ImageDataset images_;
};

/// The characters of a text file, for language models: example i is (characters i .. i+T-1, characters i+1 .. i+T),
/// each int64 [T]. A character is a byte; its number is its place among the distinct bytes of the file, in their order.
class CharDataset : public Dataset {
 public:
  /// Throws Error(io) if the file cannot be read, Error(value) if it has no more than block_size characters.
  CharDataset(const std::string& path, std::int64_t block_size);
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] Tensors get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(vocabulary_.size()); }
  /// Numbers of characters, int64 [n]; throws Error(value) for one the file has not.
  [[nodiscard]] Tensor encode(std::string_view text) const;
  /// The text of a 1-dim int64 tensor; throws Error(index) for a number out of range.
  [[nodiscard]] std::string decode(const Tensor& numbers) const;

 private:
  std::int64_t block_size_;
  std::string vocabulary_;
  std::vector<std::uint8_t> text_;  // numbers of the characters
};

/// What a function makes of the examples of another data set; it is called from several threads at once.
class MapDataset : public Dataset {
 public:
  using Transform = std::function<Tensors(Tensors)>;
  MapDataset(std::shared_ptr<const Dataset> dataset, Transform transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}
  [[nodiscard]] std::int64_t size() const override { return dataset_->size(); }
  [[nodiscard]] Tensors get(std::int64_t index) const override { return transform_(dataset_->get(index)); }

 private:
  std::shared_ptr<const Dataset> dataset_;
  Transform transform_;
};

/// Tensors of .npy files, in this order. Errors as io::read_npy and TensorDataset.
TensorDataset npy_dataset(const std::vector<std::string>& paths);
/// These tensors of a safetensors file. Errors as io::safe_open and TensorDataset.
TensorDataset safetensors_dataset(const std::string& path, const std::vector<std::string>& names);
/// A CSV file with one column as target: input [columns - 1] of options.dtype, target [] of target_dtype (int64:
/// classes). Error(value) for an unknown column, Error(io) for targets that are not integers where target_dtype is one.
TensorDataset csv_dataset(const std::string& path, std::string_view target, const io::CsvOptions& options = {},
                          DType target_dtype = DType::int64);

}  // namespace amp::data

template <>
struct std::tuple_size<amp::data::Batch> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, amp::data::Batch> {
  using type = const amp::Tensor;
};
