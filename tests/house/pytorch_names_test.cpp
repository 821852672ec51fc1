// Holds the rules of ops.def to what PyTorch registers, in both directions: every registered name has its rule here or
// a reason why not, and no row has a rule that PyTorch does not give it.
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <string_view>

#include "libamp/base/op.h"

using amp::CastRule;
using amp::OpId;

namespace {

struct Registered {
  std::string_view name;
  CastRule cuda_rule, cpu_rule;
  OpId op;
  std::string_view note;
};
constexpr Registered kRegistered[] = {
#define PYTORCH_NAME(name, cuda_rule, cpu_rule, op, note) \
  {name, CastRule::cuda_rule, CastRule::cpu_rule, OpId::op, note},
#include "tests/house/pytorch_names.def"
};

}  // namespace

TEST_CASE("every name that PyTorch registers with autocast has a row with its rule, or a reason", "[house]") {
  std::set<std::string_view> names;
  for (const Registered& r : kRegistered) {
    INFO(r.name);
    CHECK(names.insert(r.name).second);
    CHECK((r.cuda_rule != CastRule::none || r.cpu_rule != CastRule::none));
    if (r.op == OpId::none) {
      CHECK_FALSE(r.note.empty());
      continue;
    }
    const amp::OpInfo& op = amp::op_info(r.op);
    INFO(op.name);
    if (r.cuda_rule != CastRule::none) CHECK(op.cuda_rule == r.cuda_rule);
    if (r.cpu_rule != CastRule::none) CHECK(op.cpu_rule == r.cpu_rule);
  }
  CHECK(names.size() > 200);
}

TEST_CASE("no row has a rule that PyTorch does not give it", "[house]") {
  for (std::size_t i = 1; i < amp::kOpCount; ++i) {
    const auto id = static_cast<OpId>(i);
    const amp::OpInfo& op = amp::op_info(id);
    bool cuda = op.cuda_rule == CastRule::none, cpu = op.cpu_rule == CastRule::none;
    for (const Registered& r : kRegistered) {
      if (r.op != id) continue;
      cuda = cuda || r.cuda_rule == op.cuda_rule;
      cpu = cpu || r.cpu_rule == op.cpu_rule;
    }
    INFO(op.name);
    CHECK(cuda);
    CHECK(cpu);
  }
}
