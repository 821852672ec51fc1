// See utf8.h.
#include "profiler/report/utf8.h"

#include <cstdint>

namespace ampprof::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Decoded {
  std::size_t length = 0;  // bytes taken, at least 1
  char32_t code = 0;
  bool valid = false;
};

/// Decodes one code point; of an invalid sequence it takes the longest piece that could have begun a valid one.
Decoded decode(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  std::size_t more = 0;
  unsigned char low = 0x80, high = 0xbf;  // allowed range of the second byte
  char32_t code = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    more = 1, code = lead & 0x1f;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    more = 2, code = lead & 0x0f;
    if (lead == 0xe0) low = 0xa0;   // shorter forms exist
    if (lead == 0xed) high = 0x9f;  // surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    more = 3, code = lead & 0x07;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;  // beyond U+10FFFF
  } else {
    return {1, 0, false};
  }
  for (std::size_t i = 1; i <= more; ++i) {
    if (i >= s.size() || byte(i) < low || byte(i) > high) return {i, 0, false};
    code = (code << 6) | (byte(i) & 0x3f);
    low = 0x80, high = 0xbf;
  }
  return {more + 1, code, true};
}

bool disturbs_a_terminal(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded d = decode(bytes);
    out += d.valid ? bytes.substr(0, d.length) : kReplacement;
    bytes.remove_prefix(d.length);
  }
  return out;
}

std::string to_printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded d = decode(bytes);
    if (!d.valid)
      out += kReplacement;
    else if (disturbs_a_terminal(d.code))
      out += '?';
    else
      out += bytes.substr(0, d.length);
    bytes.remove_prefix(d.length);
  }
  return out;
}

std::size_t width_of(std::string_view utf8) {
  std::size_t width = 0;
  for (const char c : utf8) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return width;
}

std::string cut_to(std::string_view utf8, std::size_t width) {
  if (width_of(utf8) <= width) return std::string(utf8);
  std::string out;
  std::size_t taken = 0;
  while (!utf8.empty() && taken + 1 < width) {
    const Decoded d = decode(utf8);
    out += utf8.substr(0, d.length);
    utf8.remove_prefix(d.length);
    ++taken;
  }
  return out + "…";
}

}  // namespace ampprof::report
