// A file by pread, memory by memcpy.
#include "profiler/capture/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ampprof::capture {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(fd_); }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) override {
    std::size_t filled = 0;
    while (filled < to.size()) {
      const ssize_t got = ::pread(fd_, to.data() + filled, to.size() - filled, static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

 private:
  int fd_;
  std::uint64_t size_;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) override {
    if (offset >= bytes_.size()) return 0;
    const std::size_t bytes = std::min<std::uint64_t>(to.size(), bytes_.size() - offset);
    if (bytes > 0) std::memcpy(to.data(), bytes_.data() + offset, bytes);
    return bytes;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> ByteSource::open_file(const std::string& path, std::string& error) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not hang us
  struct stat about {};
  if (fd < 0 || ::fstat(fd, &about) != 0) {
    error = "cannot open " + path + ": " + std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  if (!S_ISREG(about.st_mode)) {
    error = path + " is not a regular file";
    ::close(fd);
    return nullptr;
  }
  return std::make_unique<FileSource>(fd, static_cast<std::uint64_t>(about.st_size));
}

std::unique_ptr<ByteSource> ByteSource::over(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

}  // namespace ampprof::capture
