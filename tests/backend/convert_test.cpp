// The vector conversion paths give the same bits as the scalar reference, for every input that can matter.
#include "libamp/backend/cpu/convert.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace amp;

namespace {

std::vector<float> telling_floats() {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {  // every half and bfloat16, and points around each
    for (const float base : {static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits))),
                             static_cast<float>(BFloat16::from_bits(static_cast<std::uint16_t>(bits)))}) {
      values.push_back(base);
      values.push_back(std::nextafter(base, 1e38f));
      values.push_back(std::nextafter(base, -1e38f));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return values;
}

bool same(std::uint16_t a, std::uint16_t b, std::uint16_t infinity) {
  const bool nan_a = (a & 0x7fff) > infinity, nan_b = (b & 0x7fff) > infinity;
  return nan_a || nan_b ? nan_a == nan_b : a == b;
}

}  // namespace

TEST_CASE("every conversion path agrees with the scalar one bit for bit") {
  const std::string chosen = cpu::conversion_path();
  const auto floats = telling_floats();
  const auto n = static_cast<std::int64_t>(floats.size());
  for (const char* path : {"scalar", "avx2+f16c", "avx512"}) {
    if (!cpu::set_conversion_path(path)) continue;  // this processor lacks it
    std::vector<Half> halves(floats.size());
    std::vector<BFloat16> bfloats(floats.size());
    cpu::float_to_half(floats.data(), halves.data(), n);
    cpu::float_to_bfloat16(floats.data(), bfloats.data(), n);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      REQUIRE(same(halves[i].bits, Half(floats[i]).bits, 0x7c00));
      REQUIRE(same(bfloats[i].bits, BFloat16(floats[i]).bits, 0x7f80));
    }
    std::vector<float> back(floats.size());
    cpu::half_to_float(halves.data(), back.data(), n);
    for (std::size_t i = 0; i < back.size(); ++i)
      REQUIRE((std::isnan(back[i]) || back[i] == static_cast<float>(halves[i])));
    cpu::bfloat16_to_float(bfloats.data(), back.data(), n);
    for (std::size_t i = 0; i < back.size(); ++i)
      REQUIRE((std::isnan(back[i]) || back[i] == static_cast<float>(bfloats[i])));
  }
  CHECK(cpu::set_conversion_path(chosen.c_str()));
  CHECK_FALSE(cpu::set_conversion_path("neon"));
}
