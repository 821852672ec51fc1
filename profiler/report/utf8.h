// The border where names stop being bytes. Names in a capture are whatever a program passed; every sink of a report
// sends them through one of these two functions.
#pragma once
#include <string>
#include <string_view>

namespace ampprof::report {

/// Valid UTF-8: each maximal invalid piece (as Unicode recommends) becomes one U+FFFD. NUL and controls stay.
std::string to_utf8(std::string_view bytes);

/// For a terminal or a text file: valid UTF-8, in which control characters (and the marks that reverse the direction
/// of text) are shown as "?", so that a name can neither move the cursor nor disguise itself.
std::string to_printable(std::string_view bytes);

/// Columns a printable text takes, counting each code point as one.
std::size_t width_of(std::string_view utf8);
/// Shortens to at most `width` columns, with "…" at the end if something was cut.
std::string cut_to(std::string_view utf8, std::size_t width);

}  // namespace ampprof::report
