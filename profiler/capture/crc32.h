// CRC-32 as zlib, gzip and PNG have it, so that any tool can check a capture. Our own, because the recorder is loaded
// into programs that may bring another zlib: it must need nothing but the C library.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ampprof::capture {

/// Continues a checksum: crc32(crc32(0, a), b) is the checksum of a followed by b.
std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t bytes) noexcept;

}  // namespace ampprof::capture
