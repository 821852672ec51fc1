// Which dtype does an op run in? The decision, as a pure function of the op's row, the operands and the region.
// Semantics: PyTorch 2.11, aten/src/ATen/autocast_mode.h; see docs/semantics.md.
#pragma once
#include <span>

#include "libamp/base/op.h"

namespace amp {

/// Autocast state of one device type in one thread.
struct DeviceAutocast {
  bool enabled = false;
  DType dtype = DType::float16;  ///< the fast dtype
  Policy policy = Policy::cuda;  ///< whose lists are followed
  bool nested_off = false;       ///< switched off by an inner region of an enabled one
  friend bool operator==(const DeviceAutocast&, const DeviceAutocast&) = default;
};

/// What a decision needs to know of one tensor argument.
struct Operand {
  bool defined = false;
  DType dtype = DType::float32;
  DeviceType device = DeviceType::cpu;
};

/// How the op was called.
struct CallForm {
  bool in_place_or_out = false;
  bool dtype_given = false;  ///< the caller passed dtype=
  bool inside_listed_op = false;
  bool in_backward = false;
};

/// Why a call cannot go on under autocast.
enum class Refusal : std::uint8_t { none, banned, promote_mismatch };

struct CastDecision {
  CastRule rule = CastRule::none;
  Reason reason = Reason::autocast_off;
  Refusal refusal = Refusal::none;
  DType target = DType::count_;           ///< eligible operands are cast to it; count_: none are
  DType dtype_attribute = DType::count_;  ///< set as the op's dtype argument; count_: leave it alone
  std::size_t mismatched = 0;             ///< operand at fault if refusal is promote_mismatch
};

/// May autocast of `device` touch this operand? Floating, not float64, and on the device.
inline bool is_eligible(const Operand& operand, DeviceType device) {
  return operand.defined && operand.device == device && is_floating(operand.dtype) && operand.dtype != DType::float64;
}

/// The decision for one call, for the autocast state of one device type. Pure.
CastDecision decide(const OpInfo& op, std::span<const Operand> operands, DeviceType device, const DeviceAutocast& state,
                    CallForm form);

}  // namespace amp
