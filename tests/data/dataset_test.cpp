// Data sets of each kind, and how examples become batches.
#include "libamp/data/dataset.h"

#include <catch2/catch_test_macros.hpp>

#include "libamp/data/data_loader.h"
#include "libamp/io/npy.h"
#include "libamp/io/safetensors.h"
#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr std::int64_t kRows[] = {2, 0, 2};

}  // namespace

TEST_CASE("rows of tensors are examples, whatever their strides and types", "[data]") {
  const Tensor wide = arange(12).reshape({4, 3}).t(), halves = arange(3).to(DType::bfloat16);
  const data::TensorDataset dataset({wide, halves});
  CHECK(dataset.size() == 3);
  const Tensors one = dataset.get(1);
  CHECK(one[0].to_vector() == std::vector<double>{1, 4, 7, 10});
  CHECK(one[1].sizes() == Shape{});
  const Tensors batch = dataset.get_batch(kRows);
  CHECK(batch[0].sizes() == Shape{3, 4});
  CHECK(batch[0].to_vector() == std::vector<double>{2, 5, 8, 11, 0, 3, 6, 9, 2, 5, 8, 11});
  CHECK(batch[1].dtype() == DType::bfloat16);
  CHECK(batch[1].to_vector() == std::vector<double>{2, 0, 2});
  CHECK(dataset.Dataset::get_batch(kRows)[0].to_vector() == batch[0].to_vector());
  CHECK(error_code([&] { (void)dataset.get(3); }) == ErrorCode::index);
  CHECK(error_code([&] { (void)dataset.get(-1); }) == ErrorCode::index);
  CHECK(error_code([] { data::TensorDataset({}); }) == ErrorCode::value);
  CHECK(error_code([] { data::TensorDataset({zeros({})}); }) == ErrorCode::value);
  CHECK(error_message([] {
          data::TensorDataset({zeros({3}), zeros({4, 2})});
        }).find("got float32[3] and float32[4, 2]") != std::string::npos);
}

TEST_CASE("examples that do not go together are told apart", "[data]") {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  CHECK(data::collate({{a}, {b}})[0].to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK(data::collate({{tensor({1, 2, 3, 4}).reshape({2, 2}).t()}, {zeros({2, 2})}})[0].to_vector() ==
        std::vector<double>{1, 3, 2, 4, 0, 0, 0, 0});
  CHECK(error_message([&] {
          data::collate({{a}, {tensor({1})}});
        })
            .find("tensor 0 of example 1 of the batch: got "
                  "float32[1], need float32[2]") != std::string::npos);
  CHECK(error_message([&] { data::collate({{a}, {a.half()}}); }).find("got float16[2]") != std::string::npos);
  CHECK(error_message([&] {
          data::collate({{a}, {a, b}});
        }).find("example 1 of the batch has 2 tensors, need 1") != std::string::npos);
  CHECK(error_code([] { data::collate({}); }) == ErrorCode::value);
}

TEST_CASE("a batch of two tensors is taken apart, and one of another number indexed", "[data]") {
  const data::Batch pair({tensor({1}), tensor({2})}), one({tensor({3})});
  const auto& [input, target] = pair;
  CHECK(input.item() == 1);
  CHECK(target.item() == 2);
  CHECK(one[0].item() == 3);
  CHECK(error_code([&] { (void)one[1]; }) == ErrorCode::index);
  CHECK(error_message([&] { (void)one.get<0>(); }).find("got a batch of 1") != std::string::npos);
}

TEST_CASE("a text is characters and the ones after them", "[data]") {
  const Folder folder;
  const data::CharDataset dataset(folder.write("text", "hello world"), 4);
  CHECK(dataset.vocabulary_size() == 8);  // space d e h l o r w
  CHECK(dataset.size() == 7);
  const Tensors last = dataset.get(6);
  CHECK(dataset.decode(last[0]) == "worl");
  CHECK(dataset.decode(last[1]) == "orld");
  CHECK(last[0].to_vector() == std::vector<double>{7, 5, 6, 4});
  CHECK(dataset.encode("he").to_vector() == std::vector<double>{3, 2});
  CHECK(error_message([&] { (void)dataset.encode("z"); }).find("no character 0x7a") != std::string::npos);
  CHECK(error_code([&] { (void)dataset.decode(tensor({8}, {.dtype = DType::int64})); }) == ErrorCode::index);
  CHECK(error_code([&] { (void)dataset.get(7); }) == ErrorCode::index);
  CHECK(error_code([&] { data::CharDataset(folder / "text", 11); }) == ErrorCode::value);
  CHECK(error_code([&] { data::CharDataset(folder / "text", 0); }) == ErrorCode::value);
  CHECK(error_code([&] { data::CharDataset(folder / "none", 1); }) == ErrorCode::io);
  data::DataLoader loader(dataset, {.batch_size = 3});
  for (const auto& [inputs, targets] : loader) CHECK(inputs.sizes() == targets.sizes());
}

TEST_CASE("files of arrays become data sets", "[data]") {
  const Folder folder;
  const Tensor x = arange(6).reshape({3, 2}).to_float(), y = tensor({7, 8, 9}, {.dtype = DType::int64});
  io::write_npy(folder / "x.npy", x);
  io::write_npy(folder / "y.npy", y);
  io::save_file({{"x", x}, {"y", y}}, folder / "xy");
  const std::string csv = folder.write("xy.csv", "a,label,b\n0,7,1\n2,8,3\n4,9,5\n");
  for (const data::TensorDataset& dataset :
       {data::npy_dataset({folder / "x.npy", folder / "y.npy"}), data::safetensors_dataset(folder / "xy", {"x", "y"}),
        data::csv_dataset(csv, "label")}) {
    const Tensors batch = dataset.get_batch(kRows);
    CHECK(batch[0].dtype() == DType::float32);
    CHECK(batch[0].to_vector() == std::vector<double>{4, 5, 0, 1, 4, 5});
    CHECK(batch[1].dtype() == DType::int64);
    CHECK(batch[1].to_vector() == std::vector<double>{9, 7, 9});
  }
  CHECK(error_code([&] { data::csv_dataset(csv, "none"); }) == ErrorCode::value);
  const std::string bad = folder.write("bad.csv", "a,label\n0,1\n1,0.5\n");
  CHECK(error_message([&] { data::csv_dataset(bad, "label"); }).find("holds 0.5, need integers") != std::string::npos);
  CHECK(data::csv_dataset(bad, "label", {}, DType::float32).get(1)[1].item() == 0.5);
  CHECK(error_code([&] { data::safetensors_dataset(folder / "xy", {"z"}); }) == ErrorCode::value);
}

TEST_CASE("images and labels are a data set", "[data]") {
  const Folder folder;
  (void)folder.write("t-images-idx3-ubyte",
                     std::string("\0\0\x8\3\0\0\0\3\0\0\0\1\0\0\0\2", 16) + "\x01\x02\x03\x04\x05\x06");
  (void)folder.write("t-labels-idx1-ubyte", std::string("\0\0\x8\1\0\0\0\3", 8) + "\x07\x08\x09");
  const data::IdxDataset dataset(folder.path(), "t");
  CHECK(dataset.size() == 3);
  const Tensors one = dataset.get(1), batch = dataset.get_batch(kRows);
  CHECK(one[0].sizes() == Shape{1, 1, 2});
  CHECK(one[1].sizes() == Shape{});
  CHECK(one[1].item() == 8);
  CHECK(batch[0].to_vector() == data::collate({dataset.get(2), dataset.get(0), dataset.get(2)})[0].to_vector());
  CHECK(batch[0].select(0, 1).to_vector() == dataset.images().images(0, 1).to_vector());
  CHECK(batch[1].to_vector() == std::vector<double>{9, 7, 9});
  CHECK(error_code([&] { (void)dataset.get(3); }) == ErrorCode::index);
}

TEST_CASE("a function makes other examples of a data set's", "[data]") {
  const data::MapDataset squares(std::make_shared<data::TensorDataset>(Tensors{arange(5)}), [](Tensors example) {
    return Tensors{example[0], example[0] * example[0]};
  });
  data::DataLoader loader(squares, {.batch_size = 2, .num_workers = 2});
  for (const auto& [x, y] : loader)
    for (std::int64_t i = 0; i < x.size(0); ++i) CHECK(y[i].item() == x[i].item() * x[i].item());
}
