// Writes strict JSON as it goes, without a tree in memory: valid UTF-8 whatever bytes strings hold, numbers that are
// not finite as null. Used for report.json and trace.json.gz.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ampprof::report {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& null() { return raw("null"); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& value(double v);
  JsonWriter& value(std::string_view v);
  JsonWriter& value(const char* v) { return value(std::string_view(v)); }
  JsonWriter& value(const std::string& v) { return value(std::string_view(v)); }
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) JsonWriter& value(T v) {
    if constexpr (std::is_signed_v<T>)
      return integer(static_cast<std::int64_t>(v));
    else
      return natural(static_cast<std::uint64_t>(v));
  }
  template <typename T>
  JsonWriter& value(const std::optional<T>& v) {
    return v ? value(*v) : null();
  }
  template <typename T>
  JsonWriter& value(const std::vector<T>& items) {
    begin_array();
    for (const T& item : items) value(item);
    return end_array();
  }
  template <typename T>
  JsonWriter& field(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }
  JsonWriter& null_field(std::string_view name) {
    key(name);
    return null();
  }
  /// Puts a token that is valid JSON by itself.
  JsonWriter& raw(std::string_view token);

  /// Starts a new line before the next element; between objects of a long array, for readers and diffs.
  void line() { line_ = true; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t v);
  JsonWriter& natural(std::uint64_t v);
  void separate();
  void put_string(std::string_view bytes);

  std::string& out_;
  bool comma_ = false, line_ = false;
};

/// `[{...},{...}]`, an element a line: calls write(item) for each, which must write one value.
template <typename Items, typename Write>
void write_rows(JsonWriter& json, std::string_view name, const Items& items, Write&& write) {
  json.line();
  json.key(name);
  json.begin_array();
  for (const auto& item : items) {
    json.line();
    write(item);
  }
  json.end_array();
}

}  // namespace ampprof::report
