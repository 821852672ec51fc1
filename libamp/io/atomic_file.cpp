// Temporary file, fsync, rename, fsync of the folder.
#include "libamp/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "libamp/base/error.h"

namespace amp::io {
namespace {

// The most that Linux takes in one write.
constexpr std::size_t kChunk = 0x7ffff000;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

std::string follow_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : path;
}

}  // namespace

AtomicFile::AtomicFile(std::string_view where, const std::string& path) : where_(where), path_(follow_links(path)) {
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(ErrorCode::io, where_, path_ + ": cannot be written: it is there already, and not a file");
  static std::atomic<unsigned> count{0};
  do {
    temporary_ = fmt::format("{}.amp-{}-{}.tmp", folder_of(path_), getpid(), count.fetch_add(1));
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail_io("cannot be written", errno);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail_io(const std::string& what, int error) const {
  fail(ErrorCode::io, where_, fmt::format("{}: {}: {}", path_, what, std::strerror(error)));
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::write(file_, at, std::min(bytes, kChunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(fmt::format("cannot be written, after {} bytes", written_), errno);
    at += got;
    bytes -= static_cast<std::size_t>(got);
    written_ += static_cast<std::size_t>(got);
  }
}

void AtomicFile::commit() {
  if (fsync(file_) != 0) fail_io("cannot be written", errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("cannot be replaced", errno);
  // From here on the new file is there; a folder that cannot be synchronised does not undo that.
  close(file_);
  file_ = -1;
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace amp::io
