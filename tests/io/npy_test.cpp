// .npy files as NumPy writes them, and as nobody should.
#include "libamp/io/npy.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

/// A file of version `version` around a header text and data.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  std::size_t length = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i, length >>= 8) bytes += static_cast<char>(length & 255);
  return bytes + header + data;
}
std::string head(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

}  // namespace

TEST_CASE("arrays of every element type, order and version are read", "[io][npy]") {
  const Folder folder;
  struct Row {
    const char* descr;
    std::string one;  // the bytes of the number 1
    DType dtype;
  };
  const std::string z(8, '\0');
  const Row rows[] = {
      {"'<f2'", std::string("\x00\x3c", 2), DType::float16},
      {"'>f2'", std::string("\x3c\x00", 2), DType::float16},
      {"'<f4'", std::string("\x00\x00\x80\x3f", 4), DType::float32},
      {"'>f4'", std::string("\x3f\x80\x00\x00", 4), DType::float32},
      {"'=f4'", std::string("\x00\x00\x80\x3f", 4), DType::float32},
      {"'<f8'", std::string("\x00\x00\x00\x00\x00\x00\xf0\x3f", 8), DType::float64},
      {"'>f8'", std::string("\x3f\xf0\x00\x00\x00\x00\x00\x00", 8), DType::float64},
      {"'|i1'", "\x01", DType::int8},
      {"'<i2'", std::string("\x01\x00", 2), DType::int16},
      {"'>i4'", std::string("\x00\x00\x00\x01", 4), DType::int32},
      {"'<i8'", std::string("\x01", 1) + z.substr(1), DType::int64},
      {"'>i8'", z.substr(1) + "\x01", DType::int64},
      {"\"|u1\"", "\x01", DType::uint8},
      {"'|b1'", "\x01", DType::bool_},
  };
  for (const Row& row : rows)
    for (const char version : {1, 2, 3}) {
      CAPTURE(row.descr, static_cast<int>(version));
      const std::string zero(row.one.size(), '\0');
      const Tensor t =
          io::read_npy(folder.write("a.npy", npy(head(row.descr, "(3,)"), zero + row.one + zero, version)));
      CHECK(t.dtype() == row.dtype);
      CHECK(t.sizes() == Shape{3});
      CHECK(t.to_vector() == std::vector<double>{0, 1, 0});
    }
}

TEST_CASE("Fortran order is turned into rows", "[io][npy]") {
  const Folder folder;
  const std::string data("\0\1\2\3\4\5", 6);
  const Tensor rows = io::read_npy(folder.write("c", npy(head("'|u1'", "(2, 3)"), data)));
  CHECK(rows.to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5});
  const Tensor turned = io::read_npy(folder.write("f", npy(head("'|u1'", "(2, 3)", "True"), data)));
  CHECK(turned.sizes() == Shape{2, 3});
  CHECK(turned.is_contiguous());
  CHECK(turned.to_vector() == std::vector<double>{0, 2, 4, 1, 3, 5});
  CHECK(io::read_npy(folder.write("s", npy(head("'|u1'", "()"), "\7"))).item() == 7);
  CHECK(io::read_npy(folder.write("e", npy(head("'<f4'", "(0, 5)"), ""))).sizes() == Shape{0, 5});
}

TEST_CASE("what is written has NumPy's bytes and is read back", "[io][npy]") {
  const Folder folder;
  io::write_npy(folder / "a", tensor({1, 2}));
  const std::string bytes = folder.read("a");
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(bytes == std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text + std::string(118 - 1 - text.size(), ' ') + '\n' +
                     std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  for (const DType dtype : {DType::float16, DType::float64, DType::int8, DType::int16, DType::int32, DType::int64,
                            DType::uint8, DType::bool_}) {
    CAPTURE(name(dtype));
    const Tensor t = tensor({0, 1, 1, 0, 0, 1}, {.dtype = dtype}).reshape({2, 3}).t();
    io::write_npy(folder / "b", t);
    const Tensor back = io::read_npy(folder / "b");
    CHECK(back.dtype() == dtype);
    CHECK(back.sizes() == Shape{3, 2});
    CHECK(back.to_vector() == t.to_vector());
  }
  CHECK(error_code([&] { io::write_npy(folder / "c", tensor({1}, {.dtype = DType::bfloat16})); }) ==
        ErrorCode::not_implemented);
}

TEST_CASE("what is wrong with a .npy file is said", "[io][npy]") {
  const Folder folder;
  struct Row {
    std::string bytes;
    const char* says;
  };
  const std::string good = head("'|u1'", "(2,)");
  const Row rows[] = {
      {"", "not a .npy file"},
      {"PK\x03\x04 an .npz file", "not a .npy file"},
      {npy(good, "ab", 4), "has version 4.0"},
      {npy(good, "a"), "holds 1 bytes of data, need 2 for uint8[2]"},
      {npy(good, "abc"), "holds 3 bytes of data, need 2"},
      {npy(good, "ab").substr(0, 40), "is truncated: its header has"},
      {npy(std::string(2 << 20, ' '), "", 2), "has a header of 2097152 bytes"},
      {npy("", ""), "where there should be '{'"},
      {npy("{", ""), "its header has '' where"},
      {npy("{'descr'", ""), "where there should be ':'"},
      {npy("{'descr: '", ""), "where there should be ':'"},
      {npy("{'descr", ""), "ends inside a text"},
      {npy("{'descr': '|u1'}", ""), "lacks one of"},
      {npy("{'descr': '|u1', 'descr': '|u1'}", ""), "has 'descr' twice"},
      {npy("{'shape': (2,), 'x': 1}", ""), "has an entry 'x'"},
      {npy(good + "x", "ab"), "goes on after its }"},
      {npy(head("'|u1'", "(2,)", "Maybe"), "ab"), "neither True nor False"},
      {npy(head("'|u1'", "(-2,)"), "ab"), "its shape has '-2"},
      {npy(head("'|u1'", "(2.0,)"), "ab"), "where there should be ','"},
      {npy(head("'|u1'", "2"), "ab"), "where there should be '('"},
      {npy(head("'|u1'", "(99999999999999999999,)"), "ab"), "its shape has '9999"},
      {npy(head("'|u1'", "(4294967296, 4294967296)"), "ab"), "need more than there can be"},
      {npy(head("'|u1'", "(0, 4294967296, 4294967296)"), ""), "need more than there can be"},
      {npy(head("'<f8'", "(1099511627776,)"), "ab"), "need 8796093022208"},
      {npy(head("'|u1'", "(1,1,1,1,1,1,1,1,1)"), "a"), "more than 8 dims"},
      {npy(head("'|b1'", "(2,)"), "\1\2"), "neither 0 nor 1"},
      {npy(head("'|O'", "(2,)"), "ab"), "holds Python objects"},
      {npy(head("'<U5'", "(2,)"), "ab"), "elements of type '<U5'"},
      {npy(head("'<c8'", "(2,)"), "ab"), "elements of type '<c8'"},
      {npy(head("'<u2'", "(2,)"), "ab"), "elements of type '<u2'"},
      {npy(head("'f4'", "(2,)"), "ab"), "elements of type 'f4'"},
      {npy(head("''", "(2,)"), "ab"), "elements of type ''"},
      {npy(head("[('a', '<f4')]", "(2,)"), "ab"), "holds records"},
  };
  for (const Row& row : rows) {
    const std::string path = folder.write("file.npy", row.bytes);
    const std::string message = error_message([&] { io::read_npy(path); });
    CAPTURE(row.bytes.substr(0, 120), message, row.says);
    CHECK(message.find(path + ": ") != std::string::npos);
    CHECK(message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("a .npy file cut at any byte is an error, and one with a flipped bit never more", "[io][npy]") {
  const Folder folder;
  const std::string whole = npy(head("'<f4'", "(2, 2)"), std::string(16, 'x'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(error_code([&] { io::read_npy(folder.write("cut", whole.substr(0, length))); }) == ErrorCode::io);
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto code = error_code([&] { io::read_npy(folder.write("flipped", flipped)); });
    CHECK((!code || code == ErrorCode::io || code == ErrorCode::not_implemented));
  }
}
