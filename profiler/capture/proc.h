// What the kernel says about this process.
#pragma once
#include <cstddef>
#include <string>

namespace ampprof::capture {

/// The command line of this process, arguments separated by NUL, of at most `limit` bytes. Empty if unknown.
std::string process_command_line(std::size_t limit);

}  // namespace ampprof::capture
