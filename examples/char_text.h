// A text file as training data for a language model: each byte that occurs is a token.
#pragma once
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "libamp/amp.h"

namespace char_text {

struct Batch {
  amp::Tensor input, target;  ///< int64 [batch, block]; the target is the input one byte on
};

class Text {
 public:
  /// Throws Error(io) for a file that cannot be read, is empty, or has not one block for training and one for
  /// validation.
  Text(const std::string& path, std::int64_t block) : block_(block) {
    std::ifstream file(path, std::ios::binary);
    if (!file) amp::fail(amp::ErrorCode::io, "text", path + " cannot be read: need a text file");
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) amp::fail(amp::ErrorCode::io, "text", path + " cannot be read to its end");
    // A tenth, and at least a block, is kept back for validation.
    const auto length = static_cast<std::int64_t>(bytes.size());
    const std::int64_t kept = std::max(length / 10, block + 1);
    if (length < kept + block + 1)
      amp::fail(amp::ErrorCode::io, "text",
                path + " is too short: got " + std::to_string(length) + " bytes, need at least " +
                    std::to_string(2 * (block + 1)) + " for blocks of " + std::to_string(block));
    training_ = length - kept;
    token_of_.fill(-1);
    for (const char c : bytes) token_of_[static_cast<unsigned char>(c)] = 0;
    for (std::size_t b = 0; b < token_of_.size(); ++b) {
      if (token_of_[b] < 0) continue;
      token_of_[b] = static_cast<std::int64_t>(byte_of_.size());
      byte_of_ += static_cast<char>(b);
    }
    for (const char c : bytes) tokens_.push_back(token_of_[static_cast<unsigned char>(c)]);
  }

  [[nodiscard]] std::int64_t vocabulary() const { return static_cast<std::int64_t>(byte_of_.size()); }
  [[nodiscard]] char byte_of(std::int64_t token) const { return byte_of_[static_cast<std::size_t>(token)]; }
  /// Blocks that begin anywhere in the training part.
  [[nodiscard]] Batch training(std::int64_t batch) const {
    const std::vector<double> where = amp::rand({batch}).to_vector();
    std::vector<std::int64_t> starts;
    for (const double u : where)
      starts.push_back(static_cast<std::int64_t>(u * static_cast<double>(training_ - block_)));
    return blocks(starts);
  }
  /// The first blocks of the validation part, as many as there are, at most `batch`.
  [[nodiscard]] Batch validation(std::int64_t batch) const {
    std::vector<std::int64_t> starts;
    const auto end = static_cast<std::int64_t>(tokens_.size());
    for (std::int64_t at = training_; at + block_ < end && std::ssize(starts) < batch; at += block_)
      starts.push_back(at);
    return blocks(starts);
  }

 private:
  [[nodiscard]] Batch blocks(const std::vector<std::int64_t>& starts) const {
    std::vector<std::int64_t> input, target;
    for (const std::int64_t start : starts) {
      input.insert(input.end(), tokens_.begin() + start, tokens_.begin() + start + block_);
      target.insert(target.end(), tokens_.begin() + start + 1, tokens_.begin() + start + 1 + block_);
    }
    const amp::Shape sizes = {std::ssize(starts), block_};
    return {amp::from_memory(input.data(), sizes, amp::kInt64), amp::from_memory(target.data(), sizes, amp::kInt64)};
  }

  std::int64_t block_, training_ = 0;
  std::array<std::int64_t, 256> token_of_{};
  std::string byte_of_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace char_text
