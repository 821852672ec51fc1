// Numbers as people read them, for text reports and comparisons.
#pragma once
#include <cstdint>
#include <string>

namespace ampprof::report {

std::string time_text(std::int64_t ns);        ///< "812 ns", "3.42 ms", "12.3 s", "4 min 05 s"
std::string bytes_text(double bytes);          ///< "512 B", "1.50 KiB", "12.3 MiB"
std::string count_text(double count);          ///< "950", "1.2e+09": three digits
std::string percent(double part, double all);  ///< "12.3 %", "<0.1 %", "-" if all is 0

}  // namespace ampprof::report
