// ops.jsonl: op cases under autocast. The error or its absence, dtypes and shapes must match; values within a tolerance
// worked out from the dtypes that took part and the length of the reductions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"
#include "tests/golden/golden_json.h"

namespace amp::golden {
namespace {

DType dtype_of(const Json& name) {
  const DType dtype = find_dtype(name.get<std::string>());
  if (dtype == DType::count_) fail(ErrorCode::io, "ops", "unknown dtype " + name.dump());
  return dtype;
}

Shape shape_of(const Json& tensor) { return {tensor.at("shape").get<std::vector<std::int64_t>>()}; }

std::vector<double> values_of(const Json& tensor) {
  std::vector<double> values;
  for (const Json& v : tensor.at("data")) values.push_back(to_double(v));
  return values;
}

// Inputs for which the cases were made without gradients.
bool has_no_gradient(const std::string& op, const std::string& input) {
  for (const char* name : {"target", "index", "condition", "mask", "pos_weight"})
    if (input == name) return true;
  return input == "weight" && (op == "binary_cross_entropy_with_logits" || op == "cross_entropy" || op == "nll_loss");
}

GoldenCall::Value attribute_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  std::vector<double> list;
  for (const Json& v : value) list.push_back(to_double(v));
  return list;
}

// Distance between 1 and the next value of the type.
double epsilon(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float32:
      return 0x1p-23;
    case DType::float64:
      return 1e-9;  // the files print nine digits
    default:
      return 0;
  }
}

// Gradients that the cases' own tensors have gathered. make_golden.py uses the same float32 tensors in all variants of
// a record without clearing their gradients, so what the file holds is the sum over the variants up to that one.
struct Gathered {
  std::map<std::string, Tensor> gradients;
  double widest_epsilon = 0;
  int variants = 0;
};

class Variant {
 public:
  Variant(const Json& record, const Json& variant, Gathered& gathered)
      : record_(record), variant_(variant), gathered_(gathered) {}

  /// Why it differs; empty if it does not.
  std::string run(Adaptor adaptor) {
    prepare();
    Tensors outputs;
    const bool expects_error = variant_.contains("error");
    try {
      outputs = call(adaptor);
    } catch (const Error& e) {
      if (!expects_error) return std::string("got an error: ") + e.what();
      return fits(e.code(), variant_.at("error").get<std::string>())
                 ? ""
                 : fmt::format("got the error '{}', need {}", e.what(), variant_.at("error").dump());
    }
    if (expects_error) return "got no error, need " + variant_.at("error").dump();
    std::string why = check_outputs(outputs);
    return why.empty() ? check_gradients(outputs) : why;
  }

 private:
  void prepare() {
    widest_epsilon_ = 0x1p-23;
    for (const auto& [name, json] : record_.at("inputs").items()) {
      Tensor t = tensor(values_of(json), shape_of(json), {.dtype = dtype_of(json.at("dtype"))});
      if (t.is_floating_point()) {
        t = t.to(dtype_of(variant_.at("input_dtypes").at(name)));
        widest_epsilon_ = std::max(widest_epsilon_, epsilon(t.dtype()));
        longest_ = std::max(longest_, t.numel());
        if (!has_no_gradient(record_.at("op").get<std::string>(), name)) t.requires_grad_();
      }
      call_.inputs.emplace_back(name, t);
    }
    for (const auto& [name, value] : record_.at("attrs").items())
      if (!value.is_null()) call_.attributes.emplace(name, attribute_of(value));
  }

  Tensors call(Adaptor adaptor) {
    const Json& autocast_dtype = variant_.at("autocast");
    if (autocast_dtype.is_null()) return adaptor(call_);
    const DType dtype = dtype_of(autocast_dtype);
    if (record_.at("category") == "lower_precision") widest_epsilon_ = std::max(widest_epsilon_, epsilon(dtype));
    // The CPU runs under the rules of the device on which the case was made.
    const Policy policy = variant_.at("device") == "cuda" ? Policy::cuda : Policy::cpu;
    const autocast region(DeviceType::cpu, {.dtype = dtype, .policy = policy});
    return adaptor(call_);
  }

  static bool fits(ErrorCode code, const std::string& exception) {
    // NotImplementedError is a RuntimeError in Python; which of the two is raised differs between kernels.
    if (exception == "RuntimeError" || exception == "NotImplementedError")
      return code == ErrorCode::runtime || code == ErrorCode::not_implemented;
    if (exception == "ValueError") return code == ErrorCode::value;
    if (exception == "TypeError") return code == ErrorCode::type;
    if (exception == "IndexError") return code == ErrorCode::index;
    return exception == "AssertionError" && code == ErrorCode::assertion;
  }

  std::string check_outputs(const Tensors& outputs) {
    const Json& need = variant_.at("outputs");
    if (outputs.size() != need.size()) return fmt::format("got {} outputs, need {}", outputs.size(), need.size());
    for (const Tensor& t : outputs)
      if (t.is_floating_point()) widest_epsilon_ = std::max(widest_epsilon_, epsilon(t.dtype()));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (std::string why = check_tensor(outputs[i], need[i], true); !why.empty())
        return fmt::format("output {}: {}", i, why);
    return {};
  }

  std::string check_tensor(const Tensor& got, const Json& need, bool shape_matters) const {
    if (got.dtype() != dtype_of(need.at("dtype")))
      return fmt::format("got {}, need {}", name(got.dtype()), need.at("dtype").dump());
    if (shape_matters && !(got.sizes() == shape_of(need)))
      return fmt::format("got shape {}, need {}", to_string(got.sizes()), to_string(shape_of(need)));
    const std::vector<double> a = got.to_vector(), b = values_of(need);
    if (a.size() != b.size()) return fmt::format("got {} elements, need {}", a.size(), b.size());
    double largest = 0;
    for (const double v : b)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      const double allowed = got.is_floating_point() ? tolerance(std::abs(b[i]), largest) : 0;
      if (!(std::abs(a[i] - b[i]) <= allowed))
        return fmt::format("element {}: got {:.9g}, need {:.9g} within {:.2g}", i, a[i], b[i], allowed);
    }
    return {};
  }

  // A few roundings of the value itself, and of the terms it is summed from: their errors grow with the square root of
  // their number, and are as large as the largest values around.
  [[nodiscard]] double tolerance(double value, double largest) const {
    const double terms = std::sqrt(static_cast<double>(std::min<std::int64_t>(longest_, 64)));
    return widest_epsilon_ * (2 * value + 0.25 * terms * std::max(largest, smallest_terms_));
  }

  // L = sum over floating outputs of sum_k w_k out_k, w_k = ((k mod 7) - 3) / 4; backward outside the region.
  std::string check_gradients(const Tensors& outputs) {
    Tensor loss;
    for (const Tensor& t : outputs) {
      if (!t.is_floating_point() || !t.requires_grad()) continue;
      std::vector<double> w(static_cast<std::size_t>(t.numel()));
      for (std::size_t k = 0; k < w.size(); ++k) w[k] = (static_cast<double>(k % 7) - 3) / 4;
      const Tensor part = (t.to(DType::float64) * tensor(w, t.sizes(), {.dtype = DType::float64})).sum();
      loss = loss.defined() ? loss + part : part;
    }
    const bool expects = variant_.contains("grads"), expects_error = variant_.contains("backward_error");
    if (!loss.defined()) return expects || expects_error ? "got no output that requires a gradient" : "";
    if (!expects && !expects_error) return "got an output that requires a gradient, need none";
    smallest_terms_ = 1;  // w is up to 0.75: terms may be as large and a little more, and cancel
    try {
      loss.backward();
    } catch (const Error& e) {
      return expects_error && fits(e.code(), variant_.at("backward_error").get<std::string>())
                 ? ""
                 : std::string("backward: got an error: ") + e.what();
    }
    if (expects_error) return "backward: got no error, need " + variant_.at("backward_error").dump();
    ++gathered_.variants;
    gathered_.widest_epsilon = std::max(gathered_.widest_epsilon, widest_epsilon_);
    std::string why;
    for (const auto& [name, t] : call_.inputs) {
      const Tensor g = t.is_floating_point() ? t.grad() : Tensor();
      Tensor& sum = gathered_.gradients[name];
      if (g.defined()) sum = sum.defined() ? sum + g.to(DType::float32) : g.to(DType::float32);
      // The file has no gradient where the case's tensor was itself copied from the one that gathers it (another
      // device).
      if (!variant_.at("grads").contains(name) || !why.empty()) continue;
      why = g.defined() ? check_gradient(g, sum, variant_.at("grads").at(name)) : "got none";
      if (!why.empty()) why = fmt::format("gradient of {}: {}", name, why);
    }
    return why;
  }

  // The variant's own gradient, or the sum so far; whoever made the file may have cleared gradients or not.
  std::string check_gradient(const Tensor& own, const Tensor& sum, const Json& need) {
    std::string why = check_tensor(own, need, true);
    if (why.empty() || own.dtype() != DType::float32) return why;
    const double epsilon_before = std::exchange(widest_epsilon_, gathered_.widest_epsilon);
    const double terms_before = std::exchange(smallest_terms_, smallest_terms_ * gathered_.variants);
    const bool fits_sum = check_tensor(sum, need, true).empty();
    widest_epsilon_ = epsilon_before;
    smallest_terms_ = terms_before;
    return fits_sum ? "" : why;
  }

  const Json& record_;
  const Json& variant_;
  Gathered& gathered_;
  GoldenCall call_;
  double widest_epsilon_ = 0;
  double smallest_terms_ = 0.125;
  std::int64_t longest_ = 1;
};

void run_record(const Json& record, Score& score) {
  const auto op = record.at("op").get<std::string>();
  const Adaptor adaptor = find_adaptor(op);
  Gathered gathered;
  for (const Json& variant : record.at("variants")) {
    const std::string which =
        fmt::format("{} {} {}", op, record.at("attrs").dump(), variant.at("name").get<std::string>());
    std::string why = "the op has no adaptor";
    try {
      if (adaptor != nullptr) why = Variant(record, variant, gathered).run(adaptor);
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (why.empty())
      score.pass();
    else
      score.fail("ops", which, why);
  }
}

}  // namespace

void run_ops(const Request& request, Score& score) {
  const std::string path = request.dir + "/ops.jsonl";
  std::ifstream in(path);
  if (!in) fail(ErrorCode::io, "golden", path + " cannot be opened");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    try {
      run_record(Json::parse(line), score);
    } catch (const Json::exception& e) {
      score.fail("ops", fmt::format("line {}", number), e.what());
    }
  }
}

}  // namespace amp::golden
