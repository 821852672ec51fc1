// Pooling layers: what ops/pool.h does, with PyTorch's arguments. stride left out: the kernel size.
#pragma once
#include <optional>

#include "libamp/nn/module.h"
#include "libamp/ops/pool.h"

namespace amp::nn {

/// Maxima of windows.
class MaxPool1d : public Module {
 public:
  explicit MaxPool1d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     const SizeList& dilation = 1, bool ceil_mode = false)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding), dilation_(dilation), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return max_pool1d(input, kernel_size_, stride_, padding_, dilation_, ceil_mode_);
  }

 private:
  SizeList kernel_size_, stride_, padding_, dilation_;
  bool ceil_mode_;
};

/// Maxima of windows.
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     const SizeList& dilation = 1, bool ceil_mode = false)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding), dilation_(dilation), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return max_pool2d(input, kernel_size_, stride_, padding_, dilation_, ceil_mode_);
  }

 private:
  SizeList kernel_size_, stride_, padding_, dilation_;
  bool ceil_mode_;
};

/// Maxima of windows.
class MaxPool3d : public Module {
 public:
  explicit MaxPool3d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     const SizeList& dilation = 1, bool ceil_mode = false)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding), dilation_(dilation), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return max_pool3d(input, kernel_size_, stride_, padding_, dilation_, ceil_mode_);
  }

 private:
  SizeList kernel_size_, stride_, padding_, dilation_;
  bool ceil_mode_;
};

/// Means of windows.
class AvgPool1d : public Module {
 public:
  explicit AvgPool1d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true)
      : kernel_size_(kernel_size),
        stride_(stride),
        padding_(padding),
        ceil_mode_(ceil_mode),
        count_include_pad_(count_include_pad) {}
  Tensor forward(const Tensor& input) override {
    return avg_pool1d(input, kernel_size_, stride_, padding_, ceil_mode_, count_include_pad_);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
  bool ceil_mode_, count_include_pad_;
};

/// Means of windows; divisor_override: divide by this instead of the window's size.
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true,
                     std::optional<std::int64_t> divisor_override = {})
      : kernel_size_(kernel_size),
        stride_(stride),
        padding_(padding),
        ceil_mode_(ceil_mode),
        count_include_pad_(count_include_pad),
        divisor_override_(divisor_override) {}
  Tensor forward(const Tensor& input) override {
    return avg_pool2d(input, kernel_size_, stride_, padding_, ceil_mode_, count_include_pad_, divisor_override_);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
  bool ceil_mode_, count_include_pad_;
  std::optional<std::int64_t> divisor_override_;
};

/// Means of windows; divisor_override: divide by this instead of the window's size.
class AvgPool3d : public Module {
 public:
  explicit AvgPool3d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true,
                     std::optional<std::int64_t> divisor_override = {})
      : kernel_size_(kernel_size),
        stride_(stride),
        padding_(padding),
        ceil_mode_(ceil_mode),
        count_include_pad_(count_include_pad),
        divisor_override_(divisor_override) {}
  Tensor forward(const Tensor& input) override {
    return avg_pool3d(input, kernel_size_, stride_, padding_, ceil_mode_, count_include_pad_, divisor_override_);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
  bool ceil_mode_, count_include_pad_;
  std::optional<std::int64_t> divisor_override_;
};

/// Means of output_size parts of each spatial dim.
class AdaptiveAvgPool1d : public Module {
 public:
  explicit AdaptiveAvgPool1d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_avg_pool1d(input, output_size_); }

 private:
  SizeList output_size_;
};

/// Means of output_size parts of each spatial dim.
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_avg_pool2d(input, output_size_); }

 private:
  SizeList output_size_;
};

/// Means of output_size parts of each spatial dim.
class AdaptiveAvgPool3d : public Module {
 public:
  explicit AdaptiveAvgPool3d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_avg_pool3d(input, output_size_); }

 private:
  SizeList output_size_;
};

/// Maxima of output_size parts of each spatial dim.
class AdaptiveMaxPool1d : public Module {
 public:
  explicit AdaptiveMaxPool1d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_max_pool1d(input, output_size_).first; }

 private:
  SizeList output_size_;
};

/// Maxima of output_size parts of each spatial dim.
class AdaptiveMaxPool2d : public Module {
 public:
  explicit AdaptiveMaxPool2d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_max_pool2d(input, output_size_).first; }

 private:
  SizeList output_size_;
};

/// Maxima of output_size parts of each spatial dim.
class AdaptiveMaxPool3d : public Module {
 public:
  explicit AdaptiveMaxPool3d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override { return adaptive_max_pool3d(input, output_size_).first; }

 private:
  SizeList output_size_;
};

/// (sum x^norm_type over the window)^(1 / norm_type)
class LPPool1d : public Module {
 public:
  LPPool1d(double norm_type, const SizeList& kernel_size, const SizeList& stride = {}, bool ceil_mode = false)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(stride), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return lp_pool1d(input, norm_type_, kernel_size_, stride_, ceil_mode_);
  }

 private:
  double norm_type_;
  SizeList kernel_size_, stride_;
  bool ceil_mode_;
};

/// (sum x^norm_type over the window)^(1 / norm_type)
class LPPool2d : public Module {
 public:
  LPPool2d(double norm_type, const SizeList& kernel_size, const SizeList& stride = {}, bool ceil_mode = false)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(stride), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return lp_pool2d(input, norm_type_, kernel_size_, stride_, ceil_mode_);
  }

 private:
  double norm_type_;
  SizeList kernel_size_, stride_;
  bool ceil_mode_;
};

/// (sum x^norm_type over the window)^(1 / norm_type)
class LPPool3d : public Module {
 public:
  LPPool3d(double norm_type, const SizeList& kernel_size, const SizeList& stride = {}, bool ceil_mode = false)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(stride), ceil_mode_(ceil_mode) {}
  Tensor forward(const Tensor& input) override {
    return lp_pool3d(input, norm_type_, kernel_size_, stride_, ceil_mode_);
  }

 private:
  double norm_type_;
  SizeList kernel_size_, stride_;
  bool ceil_mode_;
};

/// The reverse of max_pool1d_with_indices: `unpool(values, indices)`.
class MaxUnpool1d : public Module {
 public:
  explicit MaxUnpool1d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding) {}
  using Module::forward;
  Tensor forward(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    return max_unpool1d(input, indices, kernel_size_, stride_, padding_, output_size);
  }
  Tensor operator()(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    const Scope scope(*this);
    return forward(input, indices, output_size);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
};

/// The reverse of max_pool2d_with_indices: `unpool(values, indices)`.
class MaxUnpool2d : public Module {
 public:
  explicit MaxUnpool2d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding) {}
  using Module::forward;
  Tensor forward(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    return max_unpool2d(input, indices, kernel_size_, stride_, padding_, output_size);
  }
  Tensor operator()(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    const Scope scope(*this);
    return forward(input, indices, output_size);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
};

/// The reverse of max_pool3d_with_indices: `unpool(values, indices)`.
class MaxUnpool3d : public Module {
 public:
  explicit MaxUnpool3d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding) {}
  using Module::forward;
  Tensor forward(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    return max_unpool3d(input, indices, kernel_size_, stride_, padding_, output_size);
  }
  Tensor operator()(const Tensor& input, const Tensor& indices, const SizeList& output_size = {}) {
    const Scope scope(*this);
    return forward(input, indices, output_size);
  }

 private:
  SizeList kernel_size_, stride_, padding_;
};

}  // namespace amp::nn
