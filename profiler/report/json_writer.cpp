// See json_writer.h.
#include "profiler/report/json_writer.h"

#include <charconv>
#include <cmath>

#include "profiler/report/utf8.h"

namespace ampprof::report {

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  if (line_) out_ += '\n';
  line_ = false;
  comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  line_ = false;
  out_ += bracket;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  put_string(name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  separate();
  out_ += token;
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t v) {
  char digits[24];
  return raw({digits, std::to_chars(digits, digits + sizeof digits, v).ptr});
}

JsonWriter& JsonWriter::natural(std::uint64_t v) {
  char digits[24];
  return raw({digits, std::to_chars(digits, digits + sizeof digits, v).ptr});
}

JsonWriter& JsonWriter::value(double v) {
  if (!std::isfinite(v)) return null();
  char digits[40];  // the shortest text that reads back as the same number
  return raw({digits, std::to_chars(digits, digits + sizeof digits, v).ptr});
}

JsonWriter& JsonWriter::value(std::string_view v) {
  separate();
  put_string(v);
  return *this;
}

void JsonWriter::put_string(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  out_ += '"';
  for (const char c : to_utf8(bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out_ += "\\u00";
      out_ += kHex[byte >> 4];
      out_ += kHex[byte & 15];
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

}  // namespace ampprof::report
