// Writing a file so that its name always holds a whole one: the old until the last byte of the new is on disk.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace amp::io {

/// The bytes go to a temporary file in the same folder; commit() gives it the name. Without commit() the destructor
/// removes it, and the old file, if there was one, stays as it was.
class AtomicFile {
 public:
  /// where: the op that errors name. A symbolic link is followed. Throws Error(io) if the folder cannot be written, or
  /// if `path` is something else than a file.
  AtomicFile(std::string_view where, const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Error(io), naming the file and what the system said ("No space left on device").
  void write(const void* data, std::size_t bytes);
  /// Waits until the bytes are on disk, then renames. Throws Error(io).
  void commit();

 private:
  [[noreturn]] void fail_io(const std::string& what, int error) const;

  std::string where_, path_, temporary_;
  std::size_t written_ = 0;
  int file_ = -1;
};

}  // namespace amp::io
