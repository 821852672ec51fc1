// IDX files, the format of MNIST and its kin: reader, and the pairs of image and label files that make a data set.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::io {

/// Bytes of an IDX file and their sizes, outermost first.
struct Idx {
  Shape sizes;
  std::vector<std::uint8_t> bytes;
};

/// Reads an IDX file of unsigned bytes, plain or compressed with gzip. dims: how many dims are expected.
/// Throws Error(io) naming the file and what is wrong: missing, not IDX, of other elements or dims, truncated, damaged,
/// or longer than its header says.
Idx read_idx(const std::string& path, int dims);

/// Images [n, height, width] with one label each, kept as bytes; batches become tensors when they are asked for.
class ImageDataset {
 public:
  /// Reads DIR/PREFIX-images-idx3-ubyte and DIR/PREFIX-labels-idx1-ubyte, each also with .gz. prefix: "train", "t10k".
  /// Throws Error(io), also if the two disagree in number.
  ImageDataset(const std::string& dir, const std::string& prefix);

  [[nodiscard]] std::int64_t size() const { return images_.sizes[0]; }  ///< of images; then of each
  [[nodiscard]] std::int64_t height() const { return images_.sizes[1]; }
  [[nodiscard]] std::int64_t width() const { return images_.sizes[2]; }
  /// Rows [begin, begin + count), counted round the end: float32 [count, 1, height, width], pixel x (1 / 255) in
  /// float32.
  [[nodiscard]] Tensor images(std::int64_t begin, std::int64_t count) const;
  /// int64 [count]
  [[nodiscard]] Tensor labels(std::int64_t begin, std::int64_t count) const;
  /// The same for any rows, each in [0, size()).
  [[nodiscard]] Tensor images(std::span<const std::int64_t> rows) const;
  [[nodiscard]] Tensor labels(std::span<const std::int64_t> rows) const;

 private:
  [[nodiscard]] std::vector<std::int64_t> round_the_end(std::int64_t begin, std::int64_t count) const;
  Idx images_, labels_;
};

}  // namespace amp::io
