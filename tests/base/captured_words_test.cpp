// Captures store words by number: holds every vocabulary to the numbers that were ever written, and to having a name
// for each, in captured_words.json. A new word needs a line there.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libamp/base/words.h"

namespace {

template <typename Word>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(Word::count_); ++i) {
    names.emplace_back(amp::name(static_cast<Word>(i)));
  }
  return names;
}

}  // namespace

TEST_CASE("words keep the numbers that captures hold", "[base]") {
  std::ifstream stream(AMP_SOURCE_DIR "/tests/base/captured_words.json");
  const auto captured = nlohmann::json::parse(stream);
  std::vector<std::string> narrow_types;
  for (const amp::DType dtype : amp::kNarrowTypes) {
    narrow_types.emplace_back(amp::name(dtype));
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies = {
      {"DType", names_of<amp::DType>()},
      {"CastRule", names_of<amp::CastRule>()},
      {"Reason", names_of<amp::Reason>()},
      {"Phase", names_of<amp::Phase>()},
      {"TensorRole", names_of<amp::TensorRole>()},
      {"MemoryCause", names_of<amp::MemoryCause>()},
      {"CastKind", names_of<amp::CastKind>()},
      {"ScalerAction", names_of<amp::ScalerAction>()},
      {"NarrowType", narrow_types},
  };
  CHECK(captured.size() == vocabularies.size() + 1);
  for (const auto& [vocabulary, names] : vocabularies) {
    CAPTURE(vocabulary);
    CHECK(captured.at(vocabulary).get<std::vector<std::string>>() == names);
  }
}

TEST_CASE("a number no build has written gets a question mark", "[base]") {
  CHECK(amp::name(amp::DType::count_) == "?");
  CHECK(amp::name(static_cast<amp::Reason>(250)) == "?");
  CHECK(amp::short_name(static_cast<amp::DType>(250)) == "?");
}
