// The driver for outside data: runs every case of a folder in the format of golden files, whoever made it. Op cases
// reach libamp through adaptors, which ops_*.cpp register by the op's name in the file.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::golden {

/// One op case on its way into libamp: input tensors and attributes by PyTorch's parameter names.
class GoldenCall {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

  std::vector<std::pair<std::string, Tensor>> inputs;  // in the file's order
  std::map<std::string, Value, std::less<>> attributes;

  /// The input of that name; undefined if the case has none.
  [[nodiscard]] Tensor in(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view attribute) const { return attributes.contains(attribute); }
  /// The attribute, or `otherwise` if it is not there. number takes "inf" and "-inf" as well; list takes a single
  /// number as a list of one. Another type is an error that names the attribute.
  [[nodiscard]] double number(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] bool flag(std::string_view attribute, bool otherwise) const;
  [[nodiscard]] std::string text(std::string_view attribute, std::string_view otherwise) const;
  [[nodiscard]] Shape list(std::string_view attribute, const Shape& otherwise = {}) const;
};

using Adaptor = Tensors (*)(const GoldenCall&);

/// `const RegisterOps kOps{{"relu", [](const GoldenCall& c) { return Tensors{relu(c.in("input"))}; }}, ...};`
/// at namespace scope of a file makes ops known. A name given twice is an error at start.
struct RegisterOps {
  RegisterOps(std::initializer_list<std::pair<const char*, Adaptor>> rows);
};
/// Null if no adaptor has that name.
Adaptor find_adaptor(std::string_view op);

/// Counts cases and prints one line for each that fails.
class Score {
 public:
  void pass() { ++passed_; }
  /// kind: ops, gradscaler, ...; which: the case; why: got X, need Y.
  void fail(std::string_view kind, std::string_view which, std::string_view why);
  [[nodiscard]] int passed() const { return passed_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  int passed_ = 0, failed_ = 0;
};

/// What the command line asked for.
struct Request {
  std::string dir, data;
  DeviceType device = DeviceType::cpu;
};

void run_ops(const Request& request, Score& score);
void run_gradscaler(const Request& request, Score& score);
void run_casts(const Request& request, Score& score);
void run_curves(const Request& request, Score& score);

}  // namespace amp::golden
