// The bytes of a capture: blocks, and the records in them. FORMAT.md says it in words; this is what the writer and the
// reader share.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "profiler/capture/record.h"

namespace ampprof::capture {

static_assert(std::endian::native == std::endian::little, "captures are little endian");

inline constexpr char kCaptureFileName[] = "capture.amptrace";

/// First bytes of every block. As in PNG: a byte above 127, and both kinds of line end, so that mangling shows.
inline constexpr unsigned char kBlockMagic[8] = {0x89, 'A', 'M', 'P', 'T', '\r', '\n', 0x1a};
inline constexpr std::uint16_t kBlockVersion = 1;

struct BlockHeader {
  unsigned char magic[8];
  std::uint16_t version;        ///< kBlockVersion
  std::uint16_t header_bytes;   ///< where the payload begins; larger in versions that append fields
  std::uint32_t payload_bytes;  ///< records, whole ones only
  std::uint64_t process_uid;    ///< random, chosen when the process began to record
  std::uint32_t pid;
  std::uint32_t tid;          ///< kernel thread id; 0 for lane 0
  std::uint32_t lane;         ///< counts the threads of the process; 0: the recorder itself
  std::uint32_t sequence;     ///< counts the blocks of the lane from 0
  std::uint64_t written_ns;   ///< CLOCK_MONOTONIC
  std::uint32_t payload_crc;  ///< CRC-32 of the payload
  std::uint32_t header_crc;   ///< CRC-32 of all header bytes but these four
};
static_assert(sizeof(BlockHeader) == 56);

/// What the writer fills a block with at most, and what the reader takes as possible.
inline constexpr std::uint32_t kBlockPayloadBytes = 64 * 1024;
inline constexpr std::uint32_t kMaxBlockPayloadBytes = 1024 * 1024;

/// A record: kind, payload length, time, then the payload, with no padding.
inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kMaxRecordPayloadBytes = 32 * 1024;
/// Longer texts are cut. A message of a plain NVTX range has no bound of its own.
inline constexpr std::size_t kMaxTextBytes = 8 * 1024;

/// At most this long does a record wait in memory: what kill -9 can cost (plus the time of one write).
inline constexpr std::uint64_t kFlushIntervalNs = 50'000'000;

inline void encode_record_header(std::byte* to, RecordKind kind, std::size_t payload_bytes, std::uint64_t time_ns) {
  const auto kind16 = static_cast<std::uint16_t>(kind);
  const auto bytes16 = static_cast<std::uint16_t>(payload_bytes);
  std::memcpy(to, &kind16, 2);
  std::memcpy(to + 2, &bytes16, 2);
  std::memcpy(to + 4, &time_ns, 8);
}

/// `bytes` without the zeros at its end; a reader puts them back.
inline std::size_t trimmed_bytes(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::uint64_t word; bytes >= 8; bytes -= 8) {
    std::memcpy(&word, p + bytes - 8, 8);
    if (word != 0) break;
  }
  while (bytes > 0 && p[bytes - 1] == 0) --bytes;
  return bytes;
}

/// Appends one record to bytes that will be a block's payload.
template <class T>
void append_record(std::string& to, const T& fixed, std::uint64_t time_ns, std::string_view text = {}) {
  std::byte header[kRecordHeaderBytes];
  const std::size_t bytes = text.empty() ? trimmed_bytes(&fixed, sizeof fixed) : sizeof fixed;
  encode_record_header(header, T::kKind, bytes + text.size(), time_ns);
  to.append(reinterpret_cast<const char*>(header), sizeof header);
  to.append(reinterpret_cast<const char*>(&fixed), bytes);
  to.append(text);
}

/// Fills in magic, version, sizes and checksums; the payload may be in two pieces.
void seal_block(BlockHeader& header, std::span<const std::byte> first, std::span<const std::byte> second = {}) noexcept;

/// Is this an intact header? Its payload is checked apart, with crc32.
bool is_block_header(const BlockHeader& header) noexcept;

}  // namespace ampprof::capture
