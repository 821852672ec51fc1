// Narrow float conversion: every value of each format survives the round trip, and ties go to even.
#include "libamp/base/half.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

using namespace amp;

namespace {

template <typename T, typename Bits>
void every_pattern_round_trips() {
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<Bits>::max(); ++bits) {
    const T value = T::from_bits(static_cast<Bits>(bits));
    const float wide = static_cast<float>(value);
    if (std::isnan(wide)) {
      REQUIRE(std::isnan(static_cast<float>(T(wide))));
    } else {
      REQUIRE(T(wide).bits == value.bits);
    }
  }
}

// Between two neighbours the midpoint goes to the even one, and what is a hair off goes to the nearer one.
template <typename T, typename Bits>
void midpoints_go_to_even(Bits largest_finite) {
  for (std::uint32_t bits = 0; bits < largest_finite; ++bits) {
    const float low = static_cast<float>(T::from_bits(static_cast<Bits>(bits)));
    const float high = static_cast<float>(T::from_bits(static_cast<Bits>(bits + 1)));
    const float middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    const Bits even = static_cast<Bits>(bits % 2 == 0 ? bits : bits + 1);
    REQUIRE(T(middle).bits == even);
    REQUIRE(T(std::nextafter(middle, low)).bits == bits);
    REQUIRE(T(std::nextafter(middle, high)).bits == bits + 1);
    REQUIRE(static_cast<float>(T(-middle)) == -static_cast<float>(T(middle)));
  }
}

}  // namespace

TEST_CASE("every float16 pattern survives float32 and back") { every_pattern_round_trips<Half, std::uint16_t>(); }
TEST_CASE("every bfloat16 pattern survives float32 and back") { every_pattern_round_trips<BFloat16, std::uint16_t>(); }
TEST_CASE("every float8_e4m3fn pattern survives float32 and back") {
  every_pattern_round_trips<Float8E4M3FN, std::uint8_t>();
}
TEST_CASE("every float8_e5m2 pattern survives float32 and back") {
  every_pattern_round_trips<Float8E5M2, std::uint8_t>();
}

TEST_CASE("ties round to even in every format") {
  midpoints_go_to_even<Half, std::uint16_t>(0x7bff);
  midpoints_go_to_even<BFloat16, std::uint16_t>(0x7f7f);
  midpoints_go_to_even<Float8E4M3FN, std::uint8_t>(0x7e);
  midpoints_go_to_even<Float8E5M2, std::uint8_t>(0x7b);
}

TEST_CASE("the borders of each range are where the formats put them") {
  struct Row {
    double largest, leaves, smallest, to_zero;
    float (*round)(float);
    bool has_infinity;
  };
  const Row rows[] = {
      {65504, 65520, 0x1p-24, 0x1p-25, [](float x) { return static_cast<float>(Half(x)); }, true},
      {0x1.fep127, 0x1.ffp127, 0x1p-133, 0x1p-134, [](float x) { return static_cast<float>(BFloat16(x)); }, true},
      {448, 464.0001, 0x1p-9, 0x1p-10, [](float x) { return static_cast<float>(Float8E4M3FN(x)); }, false},
      {57344, 61440, 0x1p-16, 0x1p-17, [](float x) { return static_cast<float>(Float8E5M2(x)); }, true},
  };
  for (const auto& row : rows) {
    CHECK(row.round(static_cast<float>(row.largest)) == static_cast<float>(row.largest));
    const float beyond = row.round(static_cast<float>(row.leaves));
    CHECK((row.has_infinity ? std::isinf(beyond) : std::isnan(beyond)));
    CHECK(row.round(static_cast<float>(row.smallest)) == static_cast<float>(row.smallest));
    CHECK(row.round(static_cast<float>(row.to_zero)) == 0.0f);
    CHECK(row.round(std::nextafter(static_cast<float>(row.to_zero), 1.0f)) == static_cast<float>(row.smallest));
  }
  CHECK(static_cast<float>(Float8E4M3FN(464.0f)) == 448.0f);  // the tie goes back to the even 448
}
