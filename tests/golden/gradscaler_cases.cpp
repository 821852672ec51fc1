// gradscaler.json: traces of a scaler over one float32 parameter of two elements. Equal, not close.
#include <fmt/format.h>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"
#include "libamp/optim/sgd.h"
#include "libamp/scaler/grad_scaler.h"
#include "tests/golden/golden_json.h"

namespace amp::golden {
namespace {

// Values are printed with nine digits, which name a float32.
bool same(double got, const Json& need) {
  const auto a = static_cast<float>(got), b = static_cast<float>(to_double(need));
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

class Trace {
 public:
  Trace(const Json& trace, const Request& request)
      : trace_(trace),
        scaler_(name(request.device), options(trace.at("init"))),
        param_(tensor({1, -2}, {.requires_grad = true})),
        direction_(tensor({0.25, -0.5})),
        optimizer_({param_}, {.lr = to_double(trace.at("lr"))}) {}

  /// Why the trace differs; empty if it does not.
  std::string run() {
    std::size_t k = 0;
    for (const Json& step : trace_.at("steps")) {
      if (std::string why = run_step(step, k); !why.empty()) return fmt::format("step {}: {}", k, why);
      ++k;
    }
    return check_state(trace_.at("state_dict"));
  }

 private:
  static GradScalerOptions options(const Json& init) {
    GradScalerOptions o;
    for (const auto& [key, value] : init.items()) {
      if (key == "init_scale")
        o.init_scale = to_double(value);
      else if (key == "growth_factor")
        o.growth_factor = to_double(value);
      else if (key == "backoff_factor")
        o.backoff_factor = to_double(value);
      else if (key == "growth_interval")
        o.growth_interval = value.get<std::int64_t>();
      else if (key == "enabled")
        o.enabled = value.get<bool>();
      else
        fail(ErrorCode::io, "gradscaler", "unknown argument '" + key + "'");
    }
    return o;
  }

  void plant(char event) const {
    const no_grad quiet;
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor g = param_.grad();
    switch (event) {
      case '.':
        return;
      case 'i':
        g.select(0, 0).fill_(inf);
        return;
      case 'n':
        g.select(0, 1).fill_(nan);
        return;
      case 'm':
        g.select(0, 0).fill_(-inf);
        g.select(0, 1).fill_(nan);
        return;
      default:
        fail(ErrorCode::io, "gradscaler", std::string("unknown event '") + event + "'");
    }
  }

  [[nodiscard]] std::string action(std::size_t k) const {
    const Json& actions = trace_.at("actions");
    const auto found = actions.find(std::to_string(k));
    return found == actions.end() ? "" : found->get<std::string>();
  }

  std::string run_step(const Json& step, std::size_t k) {
    optimizer_.zero_grad();
    scaler_.scale((param_ * direction_).sum()).backward();
    plant(step.at("event").get<std::string>().at(0));
    const double before = scaler_.get_scale();
    const std::string what = action(k);
    if (what == "unscale") scaler_.unscale_(optimizer_);
    const std::vector<double> gradient = param_.grad().to_vector();
    scaler_.step(optimizer_);
    if (what.starts_with("update:"))
      scaler_.update(std::stod(what.substr(7)));
    else
      scaler_.update();
    std::string why = compare("scale before", {before}, Json::array({step.at("scale_before")}));
    why += compare("gradient", gradient, step.at("grad_before_step"));
    why += compare("scale after", {scaler_.get_scale()}, Json::array({step.at("scale_after")}));
    why += compare("parameter", param_.to_vector(), step.at("param"));
    const auto state = scaler_.state_dict();
    const Json& tracker = step.at("growth_tracker");
    if (tracker.is_null() != state.empty())
      why += "the state dict is there or not, need the other; ";
    else if (!tracker.is_null())
      why += compare("growth tracker", {state.at("_growth_tracker")}, Json::array({tracker}));
    return why;
  }

  static std::string compare(const char* what, const std::vector<double>& got, const Json& need) {
    for (std::size_t i = 0; i < need.size(); ++i)
      if (i >= got.size() || !same(got[i], need[i]))
        return fmt::format("{}: got {:.9g}, need {}; ", what, i < got.size() ? got[i] : 0, need[i].dump());
    return {};
  }

  [[nodiscard]] std::string check_state(const Json& need) const {
    const auto state = scaler_.state_dict();
    if (state.size() != need.size())
      return fmt::format("state dict: got {} entries, need {}", state.size(), need.size());
    for (const auto& [key, value] : need.items())
      if (!state.contains(key) || !same(state.at(key), value))
        return fmt::format("state dict entry {}: got {:.9g}, need {}", key, state.contains(key) ? state.at(key) : 0,
                           value.dump());
    return {};
  }

  const Json& trace_;
  GradScaler scaler_;
  Tensor param_, direction_;
  SGD optimizer_;
};

}  // namespace

void run_gradscaler(const Request& request, Score& score) {
  const Json file = read_json(request.dir + "/gradscaler.json");
  for (const Json& trace : file) {
    const auto which = trace.at("name").get<std::string>();
    std::string why;
    try {
      why = Trace(trace, request).run();
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (why.empty())
      score.pass();
    else
      score.fail("gradscaler", which, why);
  }
}

}  // namespace amp::golden
