// casts.json: float32 bit patterns and what they are in each narrow type. Through tensors, contiguous and strided, so
// that the vectorised and the element-wise conversions are both held to it.
#include <fmt/format.h>

#include <cstring>

#include "libamp/ops/ops.h"
#include "tests/golden/golden_json.h"

namespace amp::golden {
namespace {

std::vector<std::uint32_t> bits_of(const Tensor& t) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(t.numel()));
  for (std::size_t i = 0; i < bits.size(); ++i)
    std::memcpy(&bits[i], t.data<std::byte>() + i * size_of(t.dtype()), size_of(t.dtype()));
  return bits;
}

// Every second element of a tensor twice as long.
Tensor strided_copy(const Tensor& t) {
  const Tensor wide = zeros({t.numel(), 2});
  wide.select(1, 1).copy_(t);
  return wide.select(1, 1);
}

void check(const Tensor& source, const std::vector<std::uint32_t>& patterns, DType dtype, const Json& expected,
           const char* how, Score& score) {
  const Tensor cast = source.to(dtype).contiguous();
  const std::vector<std::uint32_t> got = bits_of(cast);
  const std::vector<double> values = cast.to_vector();
  const Tensor reference = empty(cast.sizes(), dtype);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto need = expected[i].get<std::uint32_t>();
    std::memcpy(reference.data<std::byte>() + i * size_of(dtype), &need, size_of(dtype));
  }
  const std::vector<double> wanted = reference.to_vector();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i].get<std::uint32_t>() || (std::isnan(values[i]) && std::isnan(wanted[i])))
      score.pass();
    else
      score.fail("casts", fmt::format("float32 {:#010x} -> {} ({})", patterns[i], name(dtype), how),
                 fmt::format("got {:#x}, need {:#x}", got[i], expected[i].get<std::uint32_t>()));
  }
}

}  // namespace

void run_casts(const Request& request, Score& score) {
  const Json file = read_json(request.dir + "/casts.json");
  const auto patterns = file.at("float32_bits").get<std::vector<std::uint32_t>>();
  const Tensor source = from_memory(patterns.data(), {static_cast<std::int64_t>(patterns.size())}, DType::float32);
  for (const auto& [key, expected] : file.items()) {
    if (key == "float32_bits") continue;
    const DType dtype = find_dtype(key);
    if (dtype == DType::count_) {
      score.fail("casts", key, "not a dtype");
      continue;
    }
    if (expected.size() != patterns.size()) {
      score.fail("casts", key, fmt::format("got {} patterns, need {}", expected.size(), patterns.size()));
      continue;
    }
    check(source, patterns, dtype, expected, "contiguous", score);
    check(strided_copy(source), patterns, dtype, expected, "strided", score);
  }
}

}  // namespace amp::golden
