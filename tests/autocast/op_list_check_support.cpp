// The harness of op_list_check.h.
#include <cstring>

#include "libamp/ops/ops.h"
#include "tests/autocast/op_list_check.h"

namespace amp::test {
namespace {

struct Outcome {
  Tensors outputs;
  std::string error;
};

Outcome run(const SampleCall& call, const Tensors& arguments) {
  try {
    return {call(arguments), ""};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.sizes() == b.sizes())) return false;
  const auto x = a.to_vector(), y = b.to_vector();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::memcmp(&x[i], &y[i], sizeof(double)) != 0 && !(x[i] != x[i] && y[i] != y[i])) return false;
  return true;
}

std::string what_differs(const Tensors& got, const Tensors& need) {
  if (got.size() != need.size()) return "the number of outputs";
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!same_values(got[i], need[i]))
      return "output " + std::to_string(i) + ", " + describe(got[i]) + " and " + describe(need[i]);
  return "";
}

}  // namespace

Tensors cast_all(const Tensors& tensors, DType dtype) {
  Tensors cast;
  for (const Tensor& t : tensors) cast.push_back(t.defined() && t.is_floating_point() ? t.to(dtype) : t);
  return cast;
}

bool same_bits(const Tensors& a, const Tensors& b) { return what_differs(a, b).empty(); }

std::string check_listed(const OpSample& sample, Policy policy, DType fast, DType given, DType ran_in, DType expected) {
  const std::string where = sample.text + " on " + std::string(name(given)) + " under " + std::string(name(policy)) +
                            " rules with " + std::string(name(fast)) + ": ";
  const Tensors arguments = make_arguments(sample, given);
  Outcome function, method;
  {
    const autocast region(DeviceType::cpu, rules(policy, fast));
    function = run(sample.function, arguments);
    if (sample.method) method = run(sample.method, arguments);
    if (!is_autocast_enabled(DeviceType::cpu)) return where + "autocast is off after the call";
  }
  const Outcome by_hand = run(sample.function, cast_all(arguments, ran_in));
  if (!function.error.empty()) return where + function.error;
  if (!by_hand.error.empty()) return where + "cast by hand: " + by_hand.error;
  for (const Tensor& output : function.outputs)
    if (output.is_floating_point() && output.dtype() != expected)
      return where + "gives " + describe(output) + ", need " + std::string(name(expected));
  if (const auto differs = what_differs(function.outputs, by_hand.outputs); !differs.empty())
    return where + "not what the call on arguments cast by hand gives: " + differs;
  if (!sample.method) return "";
  if (!method.error.empty()) return where + "as a method: " + method.error;
  if (const auto differs = what_differs(method.outputs, function.outputs); !differs.empty())
    return where + "method and function differ: " + differs;
  return "";
}

}  // namespace amp::test
