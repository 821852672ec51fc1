// libFuzzer: any bytes as a capture. Built with -DAMP_FUZZ=ON and clang:
//   ./capture_fuzz -max_total_time=60 CORPUS_DIR        (a capture of a short run is a good corpus)
#include <cstdint>
#include <cstring>
#include <vector>

#include "profiler/capture/block.h"
#include "profiler/capture/crc32.h"
#include "profiler/capture/dump.h"

using namespace ampprof::capture;

namespace {

void read_whole(std::span<const std::byte> bytes) {
  std::string error;
  const auto reader = Reader::from_bytes(bytes, error);
  if (!reader) return;
  dump(*reader, {}, [](const std::string&) {});
}

// Checksums keep almost all inputs from the records behind them: the same bytes once more with all checksums mended.
std::vector<std::byte> mended(std::span<const std::byte> bytes) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  for (std::size_t at = 0; at + sizeof(BlockHeader) <= copy.size();) {
    BlockHeader header;
    std::memcpy(&header, copy.data() + at, sizeof header);
    const std::size_t left = copy.size() - at - sizeof header;
    if (header.payload_bytes > left) header.payload_bytes = static_cast<std::uint32_t>(left);
    const std::span payload(copy.data() + at + sizeof header, header.payload_bytes);
    seal_block(header, payload);
    std::memcpy(copy.data() + at, &header, sizeof header);
    at += sizeof header + header.payload_bytes;
  }
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_whole(bytes);
  read_whole(mended(bytes));
  return 0;
}
