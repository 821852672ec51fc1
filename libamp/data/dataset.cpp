// Rows are gathered byte by byte: no op is run, so a loader's threads are silent in reports.
#include "libamp/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "libamp/core/grad_mode.h"
#include "libamp/io/npy.h"
#include "libamp/io/safetensors.h"
#include "libamp/ops/view.h"

namespace amp::data {
namespace {

void check_index(std::int64_t index, std::int64_t size, const char* where) {
  if (index < 0 || index >= size)
    fail(ErrorCode::index, where, fmt::format("index out of range: got {}, need 0 to {}", index, size - 1));
}

Shape with_rows(const Shape& sizes, std::int64_t rows) {
  Shape result = sizes;
  result.insert(0, rows);
  return result;
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype());
}

/// Rows of a contiguous tensor.
Tensor gather(const Tensor& from, std::span<const std::int64_t> rows) {
  Shape sizes = from.sizes();
  sizes[0] = static_cast<std::int64_t>(rows.size());
  Tensor to = empty(sizes, from.dtype());
  const std::size_t row_bytes = rows.empty() ? 0 : bytes_of(to) / rows.size();
  auto* out = to.data<std::byte>();
  for (const std::int64_t row : rows) {
    check_index(row, from.size(0), "TensorDataset");
    std::memcpy(out, from.data<std::byte>() + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    out += row_bytes;
  }
  return to;
}

}  // namespace

const Tensor& Batch::operator[](std::size_t i) const {
  if (i >= tensors_.size())
    fail(ErrorCode::index, "Batch", fmt::format("got tensor {} of a batch of {}", i, tensors_.size()));
  return tensors_[i];
}

void Batch::need_pair() const {
  if (tensors_.size() != 2)
    fail(ErrorCode::value, "Batch",
         fmt::format("[input, target] takes two tensors: got a batch of {}, need indexing", tensors_.size()));
}

Tensors Dataset::get_batch(std::span<const std::int64_t> indices) const {
  std::vector<Tensors> examples;
  examples.reserve(indices.size());
  for (const std::int64_t index : indices) examples.push_back(get(index));
  return collate(examples);
}

Tensors collate(const std::vector<Tensors>& examples) {
  if (examples.empty()) fail(ErrorCode::value, "collate", "got no examples");
  const Tensors& first = examples.front();
  Tensors batch;
  for (const Tensor& tensor : first)
    batch.push_back(empty(with_rows(tensor.sizes(), static_cast<std::int64_t>(examples.size())), tensor.dtype()));
  const no_grad quiet;
  for (std::size_t e = 0; e < examples.size(); ++e) {
    const Tensors& example = examples[e];
    if (example.size() != first.size())
      fail(
          ErrorCode::runtime, "collate",
          fmt::format("example {} of the batch has {} tensors, need {} as the first", e, example.size(), first.size()));
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!example[i].defined() || example[i].dtype() != first[i].dtype() || !(example[i].sizes() == first[i].sizes()))
        fail(ErrorCode::runtime, "collate",
             fmt::format("tensor {} of example {} of the batch: got {}, need {} as in the first", i, e,
                         describe(example[i]), describe(first[i])));
      const Tensor row = example[i].is_contiguous() ? example[i] : contiguous(example[i].detach());
      std::memcpy(batch[i].data<std::byte>() + e * bytes_of(row), row.raw(), bytes_of(row));
    }
  }
  return batch;
}

TensorDataset::TensorDataset(const Tensors& tensors) {
  if (tensors.empty()) fail(ErrorCode::value, "TensorDataset", "got no tensors");
  const no_grad quiet;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.dim() == 0)
      fail(ErrorCode::value, "TensorDataset", "need tensors with rows: got " + describe(tensor));
    if (tensor.size(0) != tensors.front().size(0))
      fail(ErrorCode::value, "TensorDataset",
           "all tensors need as many rows: got " + describe(tensors.front()) + " and " + describe(tensor));
    tensors_.push_back(tensor.detach().contiguous());
  }
}

Tensors TensorDataset::get(std::int64_t index) const {
  check_index(index, size(), "TensorDataset");
  Tensors example;
  for (const Tensor& tensor : tensors_) {
    Shape sizes = tensor.sizes();
    sizes.erase(0);
    const std::int64_t row = numel_of(sizes);
    example.push_back(make_view(tensor, sizes, contiguous_strides(sizes), tensor.impl()->offset + index * row));
  }
  return example;
}

Tensors TensorDataset::get_batch(std::span<const std::int64_t> indices) const {
  Tensors batch;
  for (const Tensor& tensor : tensors_) batch.push_back(gather(tensor, indices));
  return batch;
}

Tensors IdxDataset::get(std::int64_t index) const {
  Tensors batch = get_batch({&index, 1});
  for (Tensor& tensor : batch) {
    Shape sizes = tensor.sizes();
    sizes.erase(0);
    tensor = make_view(tensor, sizes, contiguous_strides(sizes), 0);
  }
  return batch;
}

Tensors IdxDataset::get_batch(std::span<const std::int64_t> indices) const {
  for (const std::int64_t index : indices) check_index(index, size(), "IdxDataset");
  return {images_.images(indices), images_.labels(indices)};
}

TensorDataset npy_dataset(const std::vector<std::string>& paths) {
  Tensors tensors;
  for (const std::string& path : paths) tensors.push_back(io::read_npy(path));
  return TensorDataset(tensors);
}

TensorDataset safetensors_dataset(const std::string& path, const std::vector<std::string>& names) {
  const io::safe_open file(path);
  Tensors tensors;
  for (const std::string& name : names) tensors.push_back(file.get_tensor(name));
  return TensorDataset(tensors);
}

TensorDataset csv_dataset(const std::string& path, std::string_view target, const io::CsvOptions& options,
                          DType target_dtype) {
  const io::Csv csv = io::read_csv(path, options);
  const std::int64_t column = csv.column(target), columns = csv.values.size(1), rows = csv.values.size(0);
  const Tensor inputs = empty({rows, columns - 1}, options.dtype);
  const std::size_t width = size_of(options.dtype), before = static_cast<std::size_t>(column) * width;
  const std::size_t after = static_cast<std::size_t>(columns - 1 - column) * width;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto* from = csv.values.data<std::byte>() + static_cast<std::size_t>(r * columns) * width;
    auto* to = inputs.data<std::byte>() + static_cast<std::size_t>(r * (columns - 1)) * width;
    std::memcpy(to, from, before);
    std::memcpy(to + before, from + before + width, after);
  }
  const no_grad quiet;
  const Tensor targets = csv.values.select(1, column);
  if (!is_floating(target_dtype))
    for (const double value : targets.to_vector())
      if (std::nearbyint(value) != value)
        fail(ErrorCode::io, "csv_dataset",
             fmt::format("{}: column {} holds {}, need integers for {}", path, io::in_quotes(target), value,
                         name(target_dtype)));
  return TensorDataset({inputs, targets.to(target_dtype)});
}

}  // namespace amp::data
