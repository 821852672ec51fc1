// Tables of numbers, with and without names, and what is not one.
#include "libamp/io/csv.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

std::vector<double> values_of(const std::string& text, const io::CsvOptions& options = {.dtype = DType::float64}) {
  return io::parse_csv(text, "text", options).values.to_vector();
}

}  // namespace

TEST_CASE("rows of numbers are read, however their lines end", "[io][csv]") {
  const std::vector<double> expected{1, -2.5, 3e10, 0.1};
  for (const char* text : {"1,-2.5\n3e10,0.1\n", "1,-2.5\r\n3e10,0.1",
                           "\xEF\xBB\xBF"
                           "1,-2.5\n3e10,.1\n\n\r\n",
                           " 1 ,\t-2.5\n+3E10,\"0.1\"\n", "x,y\n1,-2.5\n3e10,0.1\n"}) {
    CAPTURE(text);
    const io::Csv csv = io::parse_csv(text, "text", {.dtype = DType::float64});
    CHECK(csv.values.sizes() == Shape{2, 2});
    CHECK(csv.values.to_vector() == expected);
  }
  CHECK(values_of("1;2", {.delimiter = ';'}) == std::vector<double>{1, 2});
  CHECK(std::isnan(values_of("nan")[0]));
  CHECK(values_of("1,-inf")[1] == -kInf);
  CHECK(values_of("0.1", {})[0] == static_cast<double>(0.1f));
}

TEST_CASE("a header is names, also of numbers if that is said", "[io][csv]") {
  const io::Csv csv = io::parse_csv("width, \"a, b\" ,label\n1,2,3\n", "text");
  CHECK(csv.columns == std::vector<std::string>{"width", "a, b", "label"});
  CHECK(csv.column("label") == 2);
  CHECK(error_message([&] { (void)csv.column("x"); }).find("need one of: 'width', 'a, b', 'label'") !=
        std::string::npos);
  const io::Csv years = io::parse_csv("2020,2021\n1,2\n", "text", {.header = true});
  CHECK(years.columns == std::vector<std::string>{"2020", "2021"});
  CHECK(years.values.size(0) == 1);
  CHECK(error_message([] { io::parse_csv("a,b\n1,2\n", "text", {.header = false}); }).find("line 1, column 1: 'a'") !=
        std::string::npos);
}

TEST_CASE("what is no table of numbers is said, with line and column", "[io][csv]") {
  const Folder folder;
  struct Row {
    std::string text;
    const char* says;
  };
  const Row rows[] = {
      {"", "holds no rows"},
      {"\n\n", "holds no rows"},
      {"a,b\n", "holds no rows"},
      {"1,2\n3\n", "line 2 has 1 fields, need 2"},
      {"1,2\n3,4,5\n", "line 2 has 3 fields, need 2"},
      {"1,2\n\n3,4\n", "line 2 has 1 fields, need 2"},
      {"1,2\n3,\n", "line 2, column 2: '' is not a number"},
      {"1,2\n3,x\n", "line 2, column 2: 'x' is not a number"},
      {"1,2\n3,4z\n", "'4z' is not a number"},
      {"1,2\n3,0x10\n", "'0x10' is not a number"},
      {"1,2\n3,1,5\n", "3 fields"},
      {"1\n++2\n", "'++2' is not a number"},
      {"1\n1e39\n", "'1e39' is not a number, or does not fit float32"},
      {"1\n1e999\n", "'1e999' is not a number"},
      {"1\n\"2\n", "line 2 ends inside quotes"},
      {std::string("1\n2\0\n", 5), "'2\\x00' is not a number"},
      {"1\n" + std::string(100000, '9') + "x", "...' is not a number"},
  };
  for (const Row& row : rows) {
    const std::string path = folder.write("file.csv", row.text);
    const std::string message = error_message([&] { io::read_csv(path); });
    CAPTURE(row.text.substr(0, 40), message, row.says);
    CHECK(message.find(path + ": ") != std::string::npos);
    CHECK(message.find(row.says) != std::string::npos);
    CHECK(message.size() < 300);
    CHECK(error_code([&] { io::read_csv(path); }) == ErrorCode::io);
  }
  CHECK(error_message([&] { io::read_csv(folder / "none"); }).find("cannot be opened") != std::string::npos);
  CHECK(error_code([] { io::parse_csv("1", "text", {.dtype = DType::int64}); }) == ErrorCode::type);
}
