// Whether ops note themselves on the tape in this thread: PyTorch's no_grad, enable_grad and inference_mode.
#pragma once

namespace amp {

struct GradMode {  ///< are gradients recorded, and is this inference
  bool enabled = true;
  bool inference = false;
};
/// This thread's mode. New threads start with gradients enabled.
GradMode& grad_mode() noexcept;

/// Sets the mode for a scope.
class GradModeScope {
 public:
  explicit GradModeScope(bool enabled, bool inference = grad_mode().inference) : before_(grad_mode()) {
    grad_mode() = {enabled, inference};
  }
  ~GradModeScope() { grad_mode() = before_; }
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  GradMode before_;
};

/// `amp::no_grad guard;` as torch::NoGradGuard / torch.no_grad().
class no_grad : public GradModeScope {
 public:
  [[nodiscard]] no_grad() : GradModeScope(false) {}
};
/// `amp::enable_grad guard;`
class enable_grad : public GradModeScope {
 public:
  [[nodiscard]] enable_grad() : GradModeScope(true) {}
};
/// `amp::set_grad_enabled guard(training);`
class set_grad_enabled : public GradModeScope {
 public:
  [[nodiscard]] explicit set_grad_enabled(bool on) : GradModeScope(on) {}
};
/// `amp::inference_mode guard;` no gradients, and the cast cache is left alone.
class inference_mode : public GradModeScope {
 public:
  [[nodiscard]] explicit inference_mode(bool on = true) : GradModeScope(on ? false : grad_mode().enabled, on) {}
};

}  // namespace amp
