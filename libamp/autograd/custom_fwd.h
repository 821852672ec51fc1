// Autocast for custom functions: torch.amp.custom_fwd and custom_bwd as makers of callables.
//
//   struct MM : amp::autograd::Function<MM> {
//     static inline const auto forward = amp::custom_fwd("cuda", {.cast_inputs = kFloat32})(
//         [](AutogradContext* ctx, const Tensor& a, const Tensor& b) { ctx->save_for_backward({a, b}); return mm(a, b);
//         });
//     static inline const auto backward = amp::custom_bwd("cuda")(
//         [](AutogradContext* ctx, const Tensors& grads) -> Tensors { ... });
//   };
#pragma once
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/function.h"

namespace amp {

struct CustomFwdOptions {
  /// Without it forward's own ops are autocast. With it, and inside a region: floating arguments (not float64) on that
  /// device are cast to this dtype, and forward runs with autocast off. Outside a region: nothing is cast.
  std::optional<DType> cast_inputs = {};
};

/// Casts eligible tensors in lists, arrays, pairs, tuples and maps (keys too); everything else passes.
Tensor cast_nested(const Tensor& tensor, DeviceType device, DType dtype);
template <typename T>
T cast_nested(const T& value, DeviceType, DType) {
  return value;
}
template <typename T>
std::vector<T> cast_nested(const std::vector<T>& values, DeviceType device, DType dtype) {
  std::vector<T> cast;
  cast.reserve(values.size());
  for (const T& value : values) cast.push_back(cast_nested(value, device, dtype));
  return cast;
}
template <typename T, std::size_t N>
std::array<T, N> cast_nested(std::array<T, N> values, DeviceType device, DType dtype) {
  for (T& value : values) value = cast_nested(value, device, dtype);
  return values;
}
template <typename A, typename B>
std::pair<A, B> cast_nested(const std::pair<A, B>& values, DeviceType device, DType dtype) {
  return {cast_nested(values.first, device, dtype), cast_nested(values.second, device, dtype)};
}
template <typename... T>
std::tuple<T...> cast_nested(const std::tuple<T...>& values, DeviceType device, DType dtype) {
  return std::apply([&](const T&... value) { return std::tuple<T...>{cast_nested(value, device, dtype)...}; }, values);
}
template <typename K, typename V, typename Less>
std::map<K, V, Less> cast_nested(const std::map<K, V, Less>& values, DeviceType device, DType dtype) {
  std::map<K, V, Less> cast;
  for (const auto& [key, value] : values)
    cast.emplace(cast_nested(key, device, dtype), cast_nested(value, device, dtype));
  return cast;
}

namespace detail {

template <typename F>
struct CustomFwd {
  DeviceType device;
  CustomFwdOptions options;
  F forward;

  template <typename... Args>
  auto operator()(autograd::AutogradContext* ctx, const Args&... args) const {
    const DeviceAutocast& state = autocast_state().of(device);
    ctx->autocast_dtype = state.dtype;
    ctx->autocast_policy = state.policy;
    ctx->used_autocast = !options.cast_inputs && state.enabled;
    if (!options.cast_inputs || !state.enabled) return forward(ctx, args...);
    const autocast off(device, AutocastOptions{.enabled = false});
    return forward(ctx, cast_nested(args, device, *options.cast_inputs)...);
  }
};

template <typename F>
struct CustomBwd {
  DeviceType device;
  F backward;

  Tensors operator()(autograd::AutogradContext* ctx, const Tensors& grads) const {
    if (ctx->autocast_dtype == DType::count_)
      fail(ErrorCode::runtime, "custom_bwd", "the forward pass was not wrapped: need custom_fwd around forward");
    const autocast region(
        device,
        AutocastOptions{.dtype = ctx->autocast_dtype, .enabled = ctx->used_autocast, .policy = ctx->autocast_policy});
    return backward(ctx, grads);
  }
};

struct CustomFwdMaker {
  DeviceType device;
  CustomFwdOptions options;
  template <typename F>
  CustomFwd<F> operator()(F forward) const {
    return {device, options, std::move(forward)};
  }
};
struct CustomBwdMaker {
  DeviceType device;
  template <typename F>
  CustomBwd<F> operator()(F backward) const {
    return {device, std::move(backward)};
  }
};

}  // namespace detail

/// torch.amp.custom_fwd(fwd, device_type=..., cast_inputs=...): notes the state of the moment in the context, for
/// custom_bwd. Outputs are not cast back. Throws Error(runtime) for an unknown device type.
inline detail::CustomFwdMaker custom_fwd(std::string_view device_type, const CustomFwdOptions& options = {}) {
  return {autocast_device(device_type), options};
}
/// torch.amp.custom_bwd(bwd, device_type=...): backward runs in a region with the dtype (and rules) of forward, enabled
/// if forward was autocast. Gradients are not cast.
inline detail::CustomBwdMaker custom_bwd(std::string_view device_type) { return {autocast_device(device_type)}; }

}  // namespace amp
