// See files.h.
#include "profiler/report/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ampprof::report {
namespace {

std::string failed(const std::string& path) { return path + ": " + std::strerror(errno); }

}  // namespace

std::string read_file(const std::string& path, std::string& out) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(path);
  struct stat info {};
  std::string error;
  if (fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    error = failed(path);
  }
  char chunk[65536];
  while (error.empty()) {
    const ssize_t n = read(file, chunk, sizeof chunk);
    if (n > 0) {
      out.append(chunk, static_cast<std::size_t>(n));
    } else if (n == 0) {
      break;
    } else if (errno != EINTR) {
      error = failed(path);
    }
  }
  close(file);
  return error;
}

std::string write_file(const std::string& path, std::string_view bytes) {
  const std::string beside = path + ".part";
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failed(path);
  std::string error;
  while (!bytes.empty() && error.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      error = failed(path);
  }
  if (close(file) != 0 && error.empty()) error = failed(path);
  if (error.empty() && rename(beside.c_str(), path.c_str()) != 0) error = failed(path);
  if (!error.empty()) unlink(beside.c_str());
  return error;
}

}  // namespace ampprof::report
