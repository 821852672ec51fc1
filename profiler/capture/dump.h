// A capture as text that a person can read and diff: what `ampprof dump` prints and what snapshots in tests compare.
#pragma once
#include <functional>
#include <string>

#include "profiler/capture/reader.h"

namespace ampprof::capture {

struct DumpOptions {
  /// Leaves out what differs from run to run (times, ids of processes and threads), for comparison with a snapshot.
  bool stable = false;
};

/// Passes the dump on line by line, without line ends. Bytes outside printable ASCII come as \xNN.
void dump(Reader& reader, const DumpOptions& options, const std::function<void(const std::string&)>& line);

/// Text as C would write it: printable ASCII as it is, the rest escaped.
std::string escaped(std::string_view bytes);

}  // namespace ampprof::capture
