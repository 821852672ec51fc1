// safetensors files: the bytes the format asks for, there and back, and files by people who mean no good.
#include "libamp/io/safetensors.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>

#include "libamp/nn/layers.h"
#include "libamp/nn/norms.h"
#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

std::string little_endian(std::uint64_t v) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &v, 8);
  return bytes;
}
/// A file with this header and `data_bytes` zeros.
std::string file_of(const std::string& json, std::size_t data_bytes) {
  return little_endian(json.size()) + json + std::string(data_bytes, '\0');
}
std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.contiguous().raw()), static_cast<std::size_t>(t.numel()) * size_of(t.dtype())};
}
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && bytes_of(a) == bytes_of(b);
}

}  // namespace

TEST_CASE("a file has the bytes that the format asks for", "[io][safetensors]") {
  const Folder folder;
  io::save_file({{"attn.0", tensor({0, 1, 2, 3, 4, 5}).reshape({1, 2, 3})}}, folder / "a");
  // 62 characters of JSON, two spaces up to a multiple of 8.
  const std::string json = R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})";
  CHECK(json.size() == 64);
  CHECK(folder.read("a") == little_endian(64) + json + bytes_of(tensor({0, 1, 2, 3, 4, 5})));

  io::save_file({}, folder / "none", {{"framework", "pt"}});
  CHECK(folder.read("none") == little_endian(40) + R"({"__metadata__":{"framework":"pt"}}     )");
  CHECK(io::load_file(folder / "none").empty());
  CHECK(io::safe_open(folder / "none").metadata() == io::Metadata{{"framework", "pt"}});
}

TEST_CASE("every dtype comes back bit for bit", "[io][safetensors]") {
  const Folder folder;
  for (int i = 0; i < static_cast<int>(DType::count_); ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(name(dtype));
    const Tensor values = tensor({0, 1, 0, 1, 1, 0}, {.dtype = dtype}).reshape({2, 3});
    if (dtype != DType::bool_)  // all 256 patterns of a byte, NaNs among them
      for (std::size_t b = 0; b < 6 * size_of(dtype); ++b)
        values.data<unsigned char>()[b] = static_cast<unsigned char>(37 * b + 200);
    const io::NamedTensors tensors{{"a", values},
                                   {"scalar", values.select(0, 0).select(0, 1)},
                                   {"empty", empty({3, 0, 2}, dtype)},
                                   {"turned", values.t()},
                                   {"again", values}};
    io::save_file(tensors, folder / "file");
    const io::NamedTensors back = io::load_file(folder / "file");
    CHECK(back.size() == tensors.size());
    for (const auto& [name, value] : tensors) {
      CAPTURE(name);
      CHECK(same(back.at(name), value));
    }
  }
}

TEST_CASE("the same tensors give the same bytes, aligned to their elements", "[io][safetensors]") {
  const Folder folder;
  const io::NamedTensors tensors{{"b", tensor({1, 2, 3}, {.dtype = DType::uint8})},
                                 {"a", tensor({1}, {.dtype = DType::bool_})},
                                 {"z", tensor({1, 2}, {.dtype = DType::float64})},
                                 {"h", tensor({1}, {.dtype = DType::bfloat16})},
                                 {"f", tensor({1})}};
  io::save_file(tensors, folder / "1", {{"k", "v"}, {"a", "b"}});
  io::save_file(tensors, folder / "2", {{"a", "b"}, {"k", "v"}});
  CHECK(folder.read("1") == folder.read("2"));
  const io::safe_open file(folder / "1");
  CHECK(file.keys() == std::vector<std::string>{"a", "b", "f", "h", "z"});
  CHECK((folder.read("1").find("{\"__metadata__\":{\"a\":\"b\",\"k\":\"v\"},\"z\"") == 8));
  std::uint64_t header = 0;
  std::memcpy(&header, folder.read("1").data(), 8);
  CHECK(header % 8 == 0);
  for (const std::string& name : file.keys()) CHECK(file.info(name).begin % size_of(*file.info(name).dtype) == 0);
}

TEST_CASE("names and metadata may hold any text", "[io][safetensors]") {
  const Folder folder;
  const std::string odd = "a \"quoted\" \\ name\n\t\x01 with \u00e9\u4e16\U0001f600";
  io::save_file({{odd, tensor({1})}, {"", tensor({2})}}, folder / "file", {{odd, odd}});
  const io::safe_open file(folder / "file");
  CHECK(file.metadata() == io::Metadata{{odd, odd}});
  CHECK(file.get_tensor(odd).item() == 1);
  CHECK(file.get_tensor("").item() == 2);
  CHECK(error_code([&] { io::save_file({{"\xff", tensor({1})}}, folder / "bad"); }) == ErrorCode::value);
  CHECK(error_code([&] { io::save_file({{"__metadata__", tensor({1})}}, folder / "bad"); }) == ErrorCode::value);
  CHECK(error_code([&] { io::save_file({{"a", Tensor()}}, folder / "bad"); }) == ErrorCode::value);
  CHECK(folder.count() == 1);
}

TEST_CASE("tensors are read one by one, and unknown names are said", "[io][safetensors]") {
  const Folder folder;
  io::save_file({{"x", tensor({1, 2})}, {"y", tensor({3})}}, folder / "file");
  const io::safe_open file(folder / "file");
  const std::size_t before = memory_stats().allocated_bytes;
  CHECK(file.info("x").sizes == Shape{2});
  CHECK(memory_stats().allocated_bytes == before);
  CHECK(file.contains("y"));
  CHECK(file.get_tensor("y").item() == 3);
  CHECK(error_message([&] { (void)file.get_tensor("w"); }).find("holds no tensor 'w'") != std::string::npos);
}

TEST_CASE("types of the format that libamp lacks are named, and do not hide the others", "[io][safetensors]") {
  const Folder folder;
  const std::string json =
      R"({"u":{"dtype":"U32","shape":[2],"data_offsets":[4,12]},"f":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("q":{"dtype":"F4","shape":[4],"data_offsets":[12,14]}})";
  const io::safe_open file(folder.write("file", file_of(json, 14)));
  CHECK(file.get_tensor("f").item() == 0);
  CHECK(error_code([&] { (void)file.get_tensor("u"); }) == ErrorCode::not_implemented);
  CHECK(error_message([&] { (void)file.get_tensor("q"); }).find("'q' has dtype F4") != std::string::npos);
}

TEST_CASE("what is wrong with a header is said, with the file and the tensor", "[io][safetensors]") {
  const Folder folder;
  struct Row {
    std::string json;
    std::size_t data_bytes;
    const char* says;
  };
  const std::string deep = R"({"a":)" + std::string(100000, '[');
  const auto one = [](const std::string& shape, const std::string& offsets, const std::string& dtype = "F32") {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const auto two = [](const char* a, const char* b) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  const Row rows[] = {
      {"", 0, "does not begin with {"},
      {"[]", 0, "does not begin with {"},
      {" {}", 0, "does not begin with {"},
      {"\xEF\xBB\xBF{}", 0, "does not begin with {"},
      {"{", 0, "not JSON"},
      {"{}}", 0, "not JSON"},
      {"{\"a\":1,}", 0, "entry 'a' is a number"},
      {"{\"\xff\":{}}", 0, "not JSON in UTF-8"},
      {"{\"\xed\xa0\x80\":{}}", 0, "not JSON in UTF-8"},  // half of a surrogate pair
      {R"({"a":null})", 0, "entry 'a' is null"},
      {R"({"a":[1]})", 0, "entry 'a' is a list"},
      {deep, 0, "entry 'a' is a list"},
      {R"({"a":{"dtype":{"x":{}}}})", 0, "has an object in its dtype"},
      {R"({"a":{}})", 0, "tensor 'a' has no dtype"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "has no data_offsets"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "has 'dtype' twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]}})", 4, "has a field 'strides'"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "'a' is there twice"},
      {R"({"__metadata__":{"k":1}})", 0, "'k' is a number, need a text"},
      {R"({"__metadata__":{"k":{}}})", 0, "'k' is an object, need a text"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "names 'k' twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ twice"},
      {R"({"__metadata__":"text"})", 0, "entry '__metadata__' is a text"},
      {one("[1]", "[0,4]", "F33"), 4, "dtype 'F33', which the format does not know"},
      {one("1", "[0,4]"), 4, "a number in its shape"},
      {one("[-1]", "[0,4]"), 4, "the negative number -1 in its shape"},
      {one("[1.0]", "[0,4]"), 4, "the number '1.0' in its shape"},
      {one("[1e9]", "[0,4]"), 4, "the number '1e9' in its shape"},
      {one("[true]", "[0,4]"), 4, "true or false in its shape"},
      {one("[[1]]", "[0,4]"), 4, "a list in its shape"},
      {one("[\"1\"]", "[0,4]"), 4, "a text in its shape"},
      {one("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "more than 8 dims"},
      {one("[9223372036854775808]", "[0,4]"), 4, "more than 63 bits"},
      {one("[99999999999999999999999999]", "[0,4]"), 4, "the number '99999999999999999999999999'"},
      {one("[4294967296,4294967296]", "[0,4]"), 4, "more than there can be"},
      {one("[0,4294967296,4294967296]", "[0,0]"), 0, "more than there can be"},
      {one("[1099511627776]", "[0,4398046511104]"), 4, "ends at byte 4398046511104 of the data, of which there are 4"},
      {one("[1]", "[4,0]"), 4, "before its begin"},
      {one("[1]", "[0]"), 4, "has 1 data_offsets"},
      {one("[1]", "[0,4,8]"), 4, "more than two data_offsets"},
      {one("[1]", "[]"), 4, "has 0 data_offsets"},
      {one("[2]", "[0,4]"), 4, "has 4 bytes, need 8 for F32[2]"},
      {one("[0]", "[0,4]"), 4, "has 4 bytes, need 0"},
      {one("[1]", "[0,4]", "F4"), 4, "no whole bytes"},
      {one("[1]", "[1,5]"), 5, "bytes 0 to 1 of the data belong to no tensor"},
      {one("[1]", "[0,4]"), 5, "goes on for 1 bytes"},
      {one("[1]", "[0,4]"), 3, "of which there are 3"},
      {two("[0,4]", "[0,4]"), 4, "'b' begins at byte 0, inside another"},
      {two("[0,4]", "[3,7]"), 7, "'b' begins at byte 3, inside another that ends at 4"},
      {two("[0,4]", "[5,9]"), 9, "bytes 4 to 5 of the data belong to no tensor, before 'b'"},
  };
  for (const Row& row : rows) {
    const std::string path = folder.write("file", file_of(row.json, row.data_bytes));
    const std::string message = error_message([&] { io::load_file(path); });
    CAPTURE(row.json.substr(0, 200), message, row.says);
    CHECK(message.find(path + ": ") != std::string::npos);
    CHECK(message.find(row.says) != std::string::npos);
    CHECK(message.size() < 400);
    CHECK(error_code([&] { io::load_file(path); }) == ErrorCode::io);
  }
}

TEST_CASE("what is no file of the format is refused before anything is read or allocated", "[io][safetensors]") {
  const Folder folder;
  struct Row {
    std::string path;
    const char* says;
  };
  const std::string fifo = folder / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const Row rows[] = {
      {folder / "missing", "cannot be opened: No such file"},
      {folder.path(), "is not a file"},
      {fifo, "is not a file"},
      {"/dev/null", "is not a file"},
      {folder.write("empty", ""), "got 0 bytes"},
      {folder.write("seven", "1234567"), "got 7 bytes"},
      {folder.write("text", "this is a text"), "need at most 100000000"},
      {folder.write("long", little_endian(100'000'001) + "{}"), "need at most 100000000"},
      {folder.write("beyond", little_endian(100'000'000) + "{}"), "its header has 100000000 bytes, and 2 are there"},
      {folder.write("most", little_endian(std::numeric_limits<std::uint64_t>::max()) + "{}"), "need at most 100000000"},
      {folder.write("none", little_endian(0)), "does not begin with {"},
  };
  for (const Row& row : rows) {
    const std::string message = error_message([&] { io::load_file(row.path); });
    CAPTURE(row.path, message, row.says);
    CHECK(message.find(row.path + ": ") != std::string::npos);
    CHECK(message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("a file cut at any byte, or with any bit flipped, is an error or other tensors, never more",
          "[io][safetensors]") {
  const Folder folder;
  io::save_file({{"w", tensor({1, 2, 3})}, {"m", tensor({1, 0}, {.dtype = DType::bool_})}}, folder / "whole",
                {{"k", "v"}});
  const std::string whole = folder.read("whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(error_code([&] { io::load_file(folder.write("cut", whole.substr(0, length))); }) == ErrorCode::io);
  }
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      const io::NamedTensors tensors = io::load_file(folder.write("flipped", flipped));
      std::size_t bytes = 0;
      for (const auto& [name, t] : tensors) bytes += bytes_of(t).size();
      CHECK(bytes == 14);
    } catch (const Error& e) {
      CAPTURE(bit, e.what());
      CHECK((e.code() == ErrorCode::io || e.code() == ErrorCode::not_implemented));
      ++refused;
    }
  }
  CHECK(refused > whole.size());  // most of the header's bits
}

TEST_CASE("a bool that is neither 0 nor 1 never gets into a tensor", "[io][safetensors]") {
  const Folder folder;
  const std::string json = R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
  const std::string path = folder.write("file", little_endian(json.size()) + json + std::string("\0\2\1", 3));
  CHECK(error_message([&] { io::load_file(path); }).find("element 1 of type BOOL is 2") != std::string::npos);
}

TEST_CASE("weights carry PyTorch's names, and go into a model of another precision", "[io][safetensors]") {
  const Folder folder;
  const auto make = [] { return nn::Sequential(nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2), nn::Linear(4, 3)); };
  const nn::Sequential model = make();
  io::save_file(model.state_dict(), folder / "file", {{"format", "pt"}});
  CHECK(io::safe_open(folder / "file").keys() ==
        std::vector<std::string>{"0.bias", "0.weight", "1.bias", "1.num_batches_tracked", "1.running_mean",
                                 "1.running_var", "1.weight", "2.bias", "2.weight"});
  CHECK(io::safe_open(folder / "file").info("1.num_batches_tracked").dtype_name == "I64");

  nn::Sequential half = make();
  half.bfloat16();
  io::save_file(half.state_dict(), folder / "half");
  CHECK(io::safe_open(folder / "half").info("0.weight").dtype_name == "BF16");
  nn::Sequential other = make();
  other.load_state_dict(io::load_file(folder / "half"));
  for (const auto& [name, value] : other.state_dict()) {
    CAPTURE(name);
    CHECK(value.dtype() == model.state_dict().at(name).dtype());
    CHECK(value.to_vector() == half.state_dict().at(name).to_vector());
  }

  io::NamedTensors wrong = io::load_file(folder / "file");
  wrong.erase("0.bias");
  wrong.erase("1.weight");
  wrong["2.weight"] = zeros({3, 5});
  wrong["extra"] = zeros({1});
  const std::string message = error_message([&] { other.load_state_dict(wrong); });
  for (const char* name : {"0.bias", "1.weight", "2.weight", "extra"}) {
    CAPTURE(name, message);
    CHECK(message.find(name) != std::string::npos);
  }
}
