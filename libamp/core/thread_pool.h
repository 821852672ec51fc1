// Splits loops of CPU bodies over threads. Chunks depend only on sizes and grain, never on timing, so results are the
// same bits in every run.
#pragma once
#include <cstdint>
#include <type_traits>

namespace amp {

/// Threads used by CPU bodies, the caller included. Default: AMP_NUM_THREADS, else OMP_NUM_THREADS, else the number
/// of processors this process may run on. Matrix products run on these threads too, not on the BLAS library's own.
int num_threads() noexcept;
void set_num_threads(int threads);
/// Whether the calling thread is at work on a chunk of a loop, so that a loop begun now would not be split.
bool inside_parallel_loop() noexcept;

/// Calls run(context, begin, end) on disjoint chunks that cover [0, n), each of at least `grain` elements except the
/// last. An exception in a chunk is rethrown in the caller after all chunks ended. Nested calls run in the caller.
void parallel_for_raw(std::int64_t n, std::int64_t grain, void (*run)(void*, std::int64_t, std::int64_t),
                      void* context);

template <typename F>  ///< the same for a callable
void parallel_for(std::int64_t n, std::int64_t grain, F&& body) {
  if (n <= grain) {
    if (n > 0) body(std::int64_t{0}, n);
    return;
  }
  using Body = std::remove_reference_t<F>;
  parallel_for_raw(
      n, grain, [](void* context, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace amp
