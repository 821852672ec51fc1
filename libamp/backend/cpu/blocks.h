// Loops for bodies that change several tensors of one shape in place, as an optimizer's update does. Beside
// elementwise.h, which writes one output.
#pragma once
#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {

/// Runs f(std::array<C*, N> block, n) over blocks of N tensors of one shape, brought to compute type C. Bit k of
/// `written`: block k is rounded back into tensor k. A block may point straight into its tensor.
template <typename C, int N, typename F>
void update_blocks(const std::array<const Tensor*, N>& tensors, unsigned written, F f) {
  std::array<const Tensor*, N - 1> rest;
  for (std::size_t k = 1; k < N; ++k) rest[k - 1] = tensors[k];
  const Loop<N - 1> loop = make_loop<N - 1>(*tensors[0], rest);
  parallel_for(loop.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::array<C, kBlock>, N> buffers;
    for_stretches<N - 1>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t done = 0; done < n; done += kBlock) {
        const std::int64_t count = std::min(kBlock, n - done);
        std::array<C*, N> block;
        for (std::size_t k = 0; k < N; ++k)
          block[k] = const_cast<C*>(
              load_block<C>(*tensors[k], offsets[k] + done * steps[k], steps[k], count, buffers[k].data()));
        f(block, count);
        for (std::size_t k = 0; k < N; ++k)
          if ((written >> k & 1u) != 0 && block[k] == buffers[k].data())
            store_from<C>(tensors[k]->raw(), tensors[k]->dtype(), offsets[k] + done * steps[k], steps[k], count,
                          block[k]);
      }
    });
  });
}

/// Throws unless `t` has the sizes of `like`: bodies that update in place do not broadcast.
inline void require_same_sizes(const OpCall& call, const Tensor& t, const Tensor& like, const char* what) {
  if (!(t.sizes() == like.sizes()))
    call.fail(std::string(what) + " has the wrong shape: got " + describe(t) + ", need " + to_string(like.sizes()));
}

}  // namespace amp::cpu
