// Reading golden files. Included by the *_cases.cpp files only: the JSON header is heavy.
#pragma once
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "libamp/base/error.h"
#include "tests/golden/golden.h"

namespace amp::golden {

using Json = nlohmann::ordered_json;  // inputs keep the order of the signature

/// A number, or one of the strings "nan", "inf", "-inf", which JSON has no numbers for.
inline double to_double(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  fail(ErrorCode::io, "golden", "not a number: got '" + text + "', need a number, nan, inf or -inf");
}

/// The whole of a JSON file. Throws Error(io) naming the file.
inline Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail(ErrorCode::io, "golden", path + " cannot be opened");
  try {
    return Json::parse(in);
  } catch (const Json::exception& e) {
    fail(ErrorCode::io, "golden", path + ": " + e.what());
  }
}

}  // namespace amp::golden
