// Names and facts of the vocabularies.
#include "libamp/base/words.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "libamp/base/event.h"
#include "libamp/base/op.h"

using namespace amp;

TEST_CASE("every dtype is found by both of its names") {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(find_dtype(name(dtype)) == dtype);
    CHECK(find_dtype(short_name(dtype)) == dtype);
    CHECK(size_of(dtype) > 0);
  }
  CHECK(find_dtype("float128") == DType::count_);
  CHECK(name(static_cast<DType>(200)) == "?");
  CHECK(size_of(static_cast<DType>(200)) == 0);
}

TEST_CASE("the twelve element types have the sizes of their formats") {
  CHECK(kDTypeCount == 12);
  CHECK(size_of(DType::float16) == 2);
  CHECK(size_of(DType::float8_e4m3fn) == 1);
  CHECK(is_low_precision(DType::bfloat16));
  CHECK_FALSE(is_low_precision(DType::float32));
  CHECK_FALSE(is_low_precision(DType::int8));
}

TEST_CASE("words outside their vocabulary are a question mark, since captures can hold anything") {
  CHECK(name(static_cast<CastRule>(250)) == "?");
  CHECK(name(static_cast<Reason>(250)) == "?");
  CHECK(name(static_cast<Phase>(250)) == "?");
  CHECK(name(static_cast<TensorRole>(250)) == "?");
  CHECK(name(static_cast<MemoryCause>(250)) == "?");
}

TEST_CASE("op names are unique and found again") {
  std::set<std::string_view> seen;
  for (std::size_t i = 1; i < kOpCount; ++i) {
    const auto& info = op_info(static_cast<OpId>(i));
    CHECK(seen.insert(info.name).second);
    CHECK(find_op(info.name) == static_cast<OpId>(i));
    CHECK_FALSE(info.text.empty());
    CHECK(info.min_inputs <= info.max_inputs);
  }
  CHECK(find_op("no such op") == OpId::none);
  CHECK(op_info(static_cast<OpId>(60000)).name == "?");
}

TEST_CASE("schema ids lie in the range NVTX keeps for static ids") {
  CHECK(schema_id(EventId::OpEvent) >= (1u << 24));
  CHECK(schema_id(EventId::FactEvent) < (std::uint64_t{1} << 32));
}
