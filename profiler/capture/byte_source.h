// Where a reader's bytes come from: a file, read in pieces and never mapped (a file cut while it is read must not kill
// the reader), or memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ampprof::capture {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `to` from `offset`; fewer bytes than asked for at the end or after a read error.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> to) = 0;

  /// Null where the path cannot be opened or is no regular file; `error` says why.
  static std::unique_ptr<ByteSource> open_file(const std::string& path, std::string& error);
  static std::unique_ptr<ByteSource> over(std::span<const std::byte> bytes);
};

}  // namespace ampprof::capture
