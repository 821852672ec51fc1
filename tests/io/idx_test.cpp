// IDX files, good and damaged in every way that has its own message.
#include "libamp/io/idx.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

std::string big_endian(std::uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}
std::string idx(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes, std::size_t bytes) {
  std::string text = big_endian(magic);
  for (const auto size : sizes) text += big_endian(size);
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

// gzip of idx(0x801, {3}, 3), as gzip writes it.
const std::string kCompressed(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x63\x60\xe0\x60\x64\x60\x60\x60"
    "\x66\x60\x64\x02\x00\xe9\xec\x55\xf9\x0b\x00\x00\x00",
    31);

}  // namespace

TEST_CASE("an IDX file is read as it is", "[io]") {
  const Folder folder;
  const io::Idx file = io::read_idx(folder.write("a", idx(0x803, {2, 2, 3}, 12)), 3);
  CHECK(file.sizes == Shape{2, 2, 3});
  CHECK(file.bytes.size() == 12);
  CHECK(file.bytes[11] == 11);
}

TEST_CASE("a compressed file is read the same, and its damage is told from its early end", "[io]") {
  const Folder folder;
  const io::Idx file = io::read_idx(folder.write("a.gz", kCompressed), 1);
  CHECK(file.bytes == std::vector<std::uint8_t>{0, 1, 2});
  for (std::size_t length = 0; length < kCompressed.size(); ++length) {
    CAPTURE(length);
    CHECK(error_code([&] { io::read_idx(folder.write("cut.gz", kCompressed.substr(0, length)), 1); }) == ErrorCode::io);
  }
  std::string damaged = kCompressed;
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  CHECK(error_message([&] { io::read_idx(folder.write("bad.gz", damaged), 1); }).find("damaged") != std::string::npos);
}

TEST_CASE("what is wrong with a file is said, with its name", "[io]") {
  const Folder folder;
  struct Row {
    std::string bytes;
    const char* says;
  };
  const std::string good = idx(0x803, {2, 2, 3}, 12);
  const Row rows[] = {
      {"", "truncated"},
      {good.substr(0, 3), "truncated"},
      {good.substr(0, 10), "truncated: it ends in its header"},
      {good.substr(0, 27), "got 11 bytes of data, need 12"},
      {good + "x", "goes on"},
      {"PK\x03\x04 something else", "not an IDX file"},
      {idx(0xd03, {2, 2, 3}, 48), "type 0x0d"},
      {idx(0x801, {12}, 12), "has 1 dims, need 3"},
      {idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, 4), "sizes that cannot be"},
      {idx(0x803, {0xffffffff, 2, 2}, 4), "truncated"},  // does not ask for the memory it claims
  };
  for (const Row& row : rows) {
    const std::string path = folder.write("file", row.bytes);
    const std::string message = error_message([&] { io::read_idx(path, 3); });
    CAPTURE(message, row.says);
    CHECK(message.find(path) != std::string::npos);
    CHECK(message.find(row.says) != std::string::npos);
    CHECK(error_code([&] { io::read_idx(path, 3); }) == ErrorCode::io);
  }
  CHECK(error_message([&] { io::read_idx(folder.path() + "/none", 3); }).find("cannot be opened") != std::string::npos);
  CHECK(error_message([&] { io::read_idx(folder.path(), 3); }).find("not a file") != std::string::npos);
}

TEST_CASE("a data set pairs images and labels", "[io]") {
  const Folder folder;
  const auto code = [&] { return error_message([&] { io::ImageDataset(folder.path(), "train"); }); };
  CHECK(code().find("train-images-idx3-ubyte is missing") != std::string::npos);
  (void)folder.write("train-images-idx3-ubyte", idx(0x803, {3, 1, 2}, 6));
  CHECK(code().find("train-labels-idx1-ubyte is missing") != std::string::npos);
  (void)folder.write("train-labels-idx1-ubyte", idx(0x801, {2}, 2));
  CHECK(code().find("3 images and 2 labels") != std::string::npos);
  (void)folder.write("train-labels-idx1-ubyte", idx(0x801, {3}, 3));
  const io::ImageDataset data(folder.path(), "train");
  CHECK(data.size() == 3);
  CHECK(data.labels(2, 2).to_vector() == std::vector<double>{2, 0});  // round the end
  const Tensor images = data.images(1, 1);
  CHECK(images.sizes() == Shape{1, 1, 1, 2});
  CHECK(images.to_vector()[1] == static_cast<double>(3 * (1 / 255.0f)));
}
