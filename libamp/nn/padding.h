// Layers that make the spatial dims longer: what ops/arrange.h's pad() does. padding: one number for every side, or
// (before, after) pairs from the last dim on.
#pragma once
#include "libamp/nn/module.h"
#include "libamp/ops/arrange.h"
#include "libamp/ops/size_list.h"

namespace amp::nn {

/// Base of the padding layers.
class Pad : public Module {
 public:
  Tensor forward(const Tensor& input) override { return pad(input, padding_, mode_, value_); }

 protected:
  Pad(int spatial, const SizeList& padding, const char* mode, double value, const char* where)
      : padding_(padding.expand(2 * spatial, where)), mode_(mode), value_(value) {}

 private:
  Shape padding_;
  const char* mode_;
  double value_;
};

/// Mirrored at the edges.
class ReflectionPad1d : public Pad {
 public:
  explicit ReflectionPad1d(const SizeList& padding) : Pad(1, padding, "reflect", 0, "ReflectionPad1d") {}
};

/// Mirrored at the edges.
class ReflectionPad2d : public Pad {
 public:
  explicit ReflectionPad2d(const SizeList& padding) : Pad(2, padding, "reflect", 0, "ReflectionPad2d") {}
};

/// Mirrored at the edges.
class ReflectionPad3d : public Pad {
 public:
  explicit ReflectionPad3d(const SizeList& padding) : Pad(3, padding, "reflect", 0, "ReflectionPad3d") {}
};

/// The edges repeated.
class ReplicationPad1d : public Pad {
 public:
  explicit ReplicationPad1d(const SizeList& padding) : Pad(1, padding, "replicate", 0, "ReplicationPad1d") {}
};

/// The edges repeated.
class ReplicationPad2d : public Pad {
 public:
  explicit ReplicationPad2d(const SizeList& padding) : Pad(2, padding, "replicate", 0, "ReplicationPad2d") {}
};

/// The edges repeated.
class ReplicationPad3d : public Pad {
 public:
  explicit ReplicationPad3d(const SizeList& padding) : Pad(3, padding, "replicate", 0, "ReplicationPad3d") {}
};

/// The other side's elements.
class CircularPad1d : public Pad {
 public:
  explicit CircularPad1d(const SizeList& padding) : Pad(1, padding, "circular", 0, "CircularPad1d") {}
};

/// The other side's elements.
class CircularPad2d : public Pad {
 public:
  explicit CircularPad2d(const SizeList& padding) : Pad(2, padding, "circular", 0, "CircularPad2d") {}
};

/// The other side's elements.
class CircularPad3d : public Pad {
 public:
  explicit CircularPad3d(const SizeList& padding) : Pad(3, padding, "circular", 0, "CircularPad3d") {}
};

/// Zeros.
class ZeroPad1d : public Pad {
 public:
  explicit ZeroPad1d(const SizeList& padding) : Pad(1, padding, "constant", 0, "ZeroPad1d") {}
};

/// Zeros.
class ZeroPad2d : public Pad {
 public:
  explicit ZeroPad2d(const SizeList& padding) : Pad(2, padding, "constant", 0, "ZeroPad2d") {}
};

/// Zeros.
class ZeroPad3d : public Pad {
 public:
  explicit ZeroPad3d(const SizeList& padding) : Pad(3, padding, "constant", 0, "ZeroPad3d") {}
};

/// One value everywhere.
class ConstantPad1d : public Pad {
 public:
  ConstantPad1d(const SizeList& padding, double value) : Pad(1, padding, "constant", value, "ConstantPad1d") {}
};

/// One value everywhere.
class ConstantPad2d : public Pad {
 public:
  ConstantPad2d(const SizeList& padding, double value) : Pad(2, padding, "constant", value, "ConstantPad2d") {}
};

/// One value everywhere.
class ConstantPad3d : public Pad {
 public:
  ConstantPad3d(const SizeList& padding, double value) : Pad(3, padding, "constant", value, "ConstantPad3d") {}
};

}  // namespace amp::nn
