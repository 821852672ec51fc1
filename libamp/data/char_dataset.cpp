// Text as numbers of characters.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libamp/data/dataset.h"
#include "libamp/io/input_file.h"

namespace amp::data {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 33;

}  // namespace

CharDataset::CharDataset(const std::string& path, std::int64_t block_size) : block_size_(block_size) {
  if (block_size < 1)
    fail(ErrorCode::value, "CharDataset", fmt::format("got block_size {}, need 1 or more", block_size));
  const std::string text = io::read_whole_file("CharDataset", path, kMaxBytes);
  if (static_cast<std::int64_t>(text.size()) <= block_size)
    fail(ErrorCode::value, "CharDataset",
         fmt::format("{}: has {} characters, need more than block_size {}", path, text.size(), block_size));
  std::array<bool, 256> seen{};
  for (const char c : text) seen[static_cast<unsigned char>(c)] = true;
  std::array<std::uint8_t, 256> number{};
  for (std::size_t c = 0; c < seen.size(); ++c) {
    if (!seen[c]) continue;
    number[c] = static_cast<std::uint8_t>(vocabulary_.size());
    vocabulary_ += static_cast<char>(c);
  }
  text_.resize(text.size());
  std::transform(text.begin(), text.end(), text_.begin(),
                 [&](char c) { return number[static_cast<unsigned char>(c)]; });
}

std::int64_t CharDataset::size() const { return static_cast<std::int64_t>(text_.size()) - block_size_; }

Tensors CharDataset::get(std::int64_t index) const {
  if (index < 0 || index >= size())
    fail(ErrorCode::index, "CharDataset", fmt::format("index out of range: got {}, need 0 to {}", index, size() - 1));
  const Tensor input = empty({block_size_}, DType::int64), target = empty({block_size_}, DType::int64);
  const auto from = text_.begin() + index;
  std::copy(from, from + block_size_, input.data<std::int64_t>());
  std::copy(from + 1, from + 1 + block_size_, target.data<std::int64_t>());
  return {input, target};
}

Tensor CharDataset::encode(std::string_view text) const {
  Tensor numbers = empty({static_cast<std::int64_t>(text.size())}, DType::int64);
  auto* out = numbers.data<std::int64_t>();
  const auto less = [](char a, char b) { return static_cast<unsigned char>(a) < static_cast<unsigned char>(b); };
  for (const char c : text) {
    const auto at = std::lower_bound(vocabulary_.begin(), vocabulary_.end(), c, less);
    if (at == vocabulary_.end() || *at != c)
      fail(ErrorCode::value, "CharDataset",
           fmt::format("the file has no character 0x{:02x}", static_cast<unsigned char>(c)));
    *out++ = at - vocabulary_.begin();
  }
  return numbers;
}

std::string CharDataset::decode(const Tensor& numbers) const {
  std::string text;
  for (const double number : numbers.to_vector()) {
    if (number < 0 || number >= static_cast<double>(vocabulary_.size()))
      fail(ErrorCode::index, "CharDataset",
           fmt::format("character number out of range: got {}, need 0 to {}", number, vocabulary_.size() - 1));
    text += vocabulary_[static_cast<std::size_t>(number)];
  }
  return text;
}

}  // namespace amp::data
