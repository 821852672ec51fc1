// Opening and reading with the system's calls, so that each failure has the system's own word for it.
#include "libamp/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libamp/base/error.h"

namespace amp::io {
namespace {

// The most that Linux takes in one read.
constexpr std::uint64_t kChunk = 0x7ffff000;

}  // namespace

InputFile::InputFile(std::string_view where, std::string path) : where_(where), path_(std::move(path)) {
  // Without O_NONBLOCK opening a pipe that nobody writes to would wait for ever.
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  const bool known = fstat(file_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  close(file_);  // the destructor does not run for an object that was never there
  refuse(known ? "is not a file" : "cannot be read");
}

InputFile::~InputFile() { close(file_); }

void InputFile::refuse(const std::string& why) const { fail(ErrorCode::io, where_, path_ + ": " + why); }

void InputFile::read(void* out, std::uint64_t bytes, std::uint64_t at) const {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = pread(file_, to, std::min(bytes, kChunk), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) refuse(fmt::format("was cut short at byte {} while it was read", at));
    to += got;
    at += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

std::string read_whole_file(std::string_view where, const std::string& path, std::uint64_t limit) {
  const InputFile file(where, path);
  if (file.size() > limit) file.refuse(fmt::format("has {} bytes, need at most {}", file.size(), limit));
  std::string bytes(file.size(), '\0');
  file.read(bytes.data(), bytes.size(), 0);
  return bytes;
}

}  // namespace amp::io
