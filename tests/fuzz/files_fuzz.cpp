// libFuzzer: any bytes as the files that libamp reads: safetensors, .npy and CSV. Built with -DAMP_FUZZ=ON and clang:
//   ./files_fuzz -max_total_time=60 CORPUS_DIR        (small files of the three kinds are a good corpus)
// Only an amp::Error may come out, and no allocation that the bytes do not bear out (-malloc_limit_mb watches that).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "libamp/io/csv.h"
#include "libamp/io/npy.h"
#include "libamp/io/safetensors.h"

using namespace amp;

namespace {

template <typename F>
void errors_only(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

/// A file in memory with these bytes.
class File {
 public:
  explicit File(std::string_view bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const File file(bytes);
  errors_only([&] { io::load_file(file.path()); });
  errors_only([&] { io::read_npy(file.path()); });
  errors_only([&] { io::parse_csv(bytes, "file"); });
  // The texts inside, which random lengths in front of them would hide.
  errors_only([&] { io::parse_safetensors_header(bytes, 1000, "file"); });
  errors_only([&] { io::parse_npy_header(bytes, "file"); });
  return 0;
}
