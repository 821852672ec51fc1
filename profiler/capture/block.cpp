// Sealing and recognising blocks.
#include "profiler/capture/block.h"

#include "profiler/capture/crc32.h"

namespace ampprof::capture {
namespace {
constexpr std::size_t kCheckedBytes = offsetof(BlockHeader, header_crc);
}

void seal_block(BlockHeader& header, std::span<const std::byte> first, std::span<const std::byte> second) noexcept {
  std::memcpy(header.magic, kBlockMagic, sizeof kBlockMagic);
  header.version = kBlockVersion;
  header.header_bytes = sizeof(BlockHeader);
  header.payload_bytes = static_cast<std::uint32_t>(first.size() + second.size());
  header.payload_crc = crc32(crc32(0, first.data(), first.size()), second.data(), second.size());
  header.header_crc = crc32(0, &header, kCheckedBytes);
}

bool is_block_header(const BlockHeader& header) noexcept {
  return std::memcmp(header.magic, kBlockMagic, sizeof kBlockMagic) == 0 && header.version == kBlockVersion &&
         header.header_bytes == sizeof(BlockHeader) && header.payload_bytes <= kMaxBlockPayloadBytes &&
         header.header_crc == crc32(0, &header, kCheckedBytes);
}

}  // namespace ampprof::capture
