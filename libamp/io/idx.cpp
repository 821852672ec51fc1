// Reading through zlib, which passes plain files through as they are.
#include "libamp/io/idx.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace amp::io {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
// A header may claim anything; memory grows with what is really there.
constexpr std::size_t kChunk = std::size_t{1} << 20;

[[noreturn]] void fail_io(const std::string& path, const std::string& what) {
  fail(ErrorCode::io, "read_idx", path + ": " + what);
}

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

File open(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail_io(path, std::string("cannot be opened: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail_io(path, "is not a file");
  errno = 0;
  File file(gzopen(path.c_str(), "rb"));
  if (!file) fail_io(path, std::string("cannot be opened: ") + (errno != 0 ? std::strerror(errno) : "out of memory"));
  return file;
}

// Reads up to n bytes; fewer only at the end. Damage of the compressed stream is an error, its early end is not yet.
std::size_t read(gzFile file, const std::string& path, std::uint8_t* out, std::size_t n) {
  std::size_t have = 0;
  while (have < n) {
    const int got = gzread(file, out + have, static_cast<unsigned>(std::min(n - have, kChunk)));
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      continue;
    }
    int code = 0;
    const char* text = gzerror(file, &code);
    if (got < 0 && code != Z_BUF_ERROR) fail_io(path, fmt::format("is damaged: {}", text));
    break;
  }
  return have;
}

Shape read_header(gzFile file, const std::string& path, int dims) {
  std::uint8_t magic[4] = {};
  const std::size_t got = read(file, path, magic, sizeof magic);
  if (got < sizeof magic) fail_io(path, fmt::format("is truncated: it ends after {} bytes of its header", got));
  if (magic[0] != 0 || magic[1] != 0)
    fail_io(path, fmt::format("is not an IDX file: got magic {:02x}{:02x}{:02x}{:02x}, need 0000{:02x}{:02x}", magic[0],
                              magic[1], magic[2], magic[3], kUnsignedByte, dims));
  if (magic[2] != kUnsignedByte)
    fail_io(path, fmt::format("holds IDX elements of type 0x{:02x}, need unsigned bytes (0x08)", magic[2]));
  if (magic[3] != dims) fail_io(path, fmt::format("has {} dims, need {}", magic[3], dims));
  Shape sizes;
  for (int d = 0; d < dims; ++d) {
    std::uint8_t b[4] = {};
    if (read(file, path, b, sizeof b) < sizeof b) fail_io(path, "is truncated: it ends in its header");
    sizes.push_back(std::int64_t{b[0]} << 24 | std::int64_t{b[1]} << 16 | std::int64_t{b[2]} << 8 | b[3]);
  }
  return sizes;
}

std::string find(const std::string& dir, const std::string& name) {
  struct stat status {};
  for (const char* ending : {"", ".gz"})
    if (std::string path = fmt::format("{}/{}{}", dir, name, ending); stat(path.c_str(), &status) == 0) return path;
  fail(ErrorCode::io, "ImageDataset", fmt::format("{}/{} is missing, also with .gz", dir, name));
}

}  // namespace

Idx read_idx(const std::string& path, int dims) {
  const File file = open(path);
  Idx idx{read_header(file.get(), path, dims), {}};
  std::size_t need = 1;
  for (const std::int64_t size : idx.sizes)
    if (__builtin_mul_overflow(need, static_cast<std::size_t>(size), &need)) fail_io(path, "has sizes that cannot be");
  while (idx.bytes.size() < need) {
    const std::size_t have = idx.bytes.size(), want = std::min(need - have, kChunk);
    idx.bytes.resize(have + want);
    const std::size_t got = read(file.get(), path, idx.bytes.data() + have, want);
    if (got < want)
      fail_io(path, fmt::format("is truncated: got {} bytes of data, need {} for {}", have + got, need,
                                to_string(idx.sizes)));
  }
  std::uint8_t extra = 0;
  if (read(file.get(), path, &extra, 1) > 0)
    fail_io(path, fmt::format("goes on after its {} bytes of data for {}", need, to_string(idx.sizes)));
  // The checksum comes after the data: without it nobody knows whether they are right.
  int code = 0;
  gzerror(file.get(), &code);
  if (code == Z_BUF_ERROR) fail_io(path, "is truncated: its compressed stream ends before its checksum");
  return idx;
}

ImageDataset::ImageDataset(const std::string& dir, const std::string& prefix)
    : images_(read_idx(find(dir, prefix + "-images-idx3-ubyte"), 3)),
      labels_(read_idx(find(dir, prefix + "-labels-idx1-ubyte"), 1)) {
  if (images_.sizes[0] != labels_.sizes[0])
    fail(ErrorCode::io, "ImageDataset",
         fmt::format("{}/{}: got {} images and {} labels, need as many", dir, prefix, images_.sizes[0],
                     labels_.sizes[0]));
  if (images_.bytes.empty()) fail(ErrorCode::io, "ImageDataset", fmt::format("{}/{}: holds no images", dir, prefix));
}

// Multiplied by the rounded reciprocal, as PyTorch divides by a number on CUDA. Half of the 256 values differ from the
// quotient in the last bit, which is enough for two training runs to part ways after forty steps.
constexpr float kPerLevel = 1.0f / 255.0f;

Tensor ImageDataset::images(std::span<const std::int64_t> rows) const {
  const std::int64_t area = height() * width();
  Tensor batch = empty({static_cast<std::int64_t>(rows.size()), 1, height(), width()});
  float* out = batch.data<float>();
  for (const std::int64_t row : rows) {
    const std::uint8_t* from = images_.bytes.data() + row * area;
    for (std::int64_t k = 0; k < area; ++k) out[k] = static_cast<float>(from[k]) * kPerLevel;
    out += area;
  }
  return batch;
}

Tensor ImageDataset::labels(std::span<const std::int64_t> rows) const {
  Tensor batch = empty({static_cast<std::int64_t>(rows.size())}, DType::int64);
  std::transform(rows.begin(), rows.end(), batch.data<std::int64_t>(),
                 [&](std::int64_t row) { return labels_.bytes[static_cast<std::size_t>(row)]; });
  return batch;
}

std::vector<std::int64_t> ImageDataset::round_the_end(std::int64_t begin, std::int64_t count) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = (begin + i) % size();
  return rows;
}

Tensor ImageDataset::images(std::int64_t begin, std::int64_t count) const {
  return images(round_the_end(begin, count));
}
Tensor ImageDataset::labels(std::int64_t begin, std::int64_t count) const {
  return labels(round_the_end(begin, count));
}

}  // namespace amp::io
