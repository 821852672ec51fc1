// Reads an input into a Timeline: a capture of ampprof, or a directory that holds one. Anything else is named for what
// it looks like, so that the message can say what to do.
#pragma once
#include <stdexcept>
#include <string>

#include "profiler/timeline/timeline.h"

namespace ampprof::timeline {

/// The input cannot be read; the message names the path and what is wrong with it.
class UnreadableInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a file that is no capture looks like, as "a Chrome trace (JSON)"; empty if nothing is recognised.
std::string describe_file(const std::string& path);

/// Opens the input and closes it again; false, with the message that read_timeline would throw, if that fails.
bool check_readable(const std::string& path, std::string& error);

/// Builds the timeline of a capture. Throws UnreadableInput. Damage is no error: it is in Timeline::losses and notes.
Timeline read_timeline(const std::string& path);

}  // namespace ampprof::timeline
