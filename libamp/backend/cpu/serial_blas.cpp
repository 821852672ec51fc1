// Counts the open scopes, since OpenBLAS's thread number is one for the process.
#include "libamp/backend/cpu/serial_blas.h"

#include <mutex>

// From OpenBLAS's cblas.h, which only gemm.cpp takes in.
extern "C" {
void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
}

namespace amp::cpu {
namespace {

std::mutex mutex;
int open_scopes = 0;
int threads_before = 1;

}  // namespace

SerialBlas::SerialBlas() {
  const std::lock_guard lock(mutex);
  if (open_scopes++ > 0) return;
  threads_before = openblas_get_num_threads();
  if (threads_before > 1) openblas_set_num_threads(1);
}

SerialBlas::~SerialBlas() {
  const std::lock_guard lock(mutex);
  if (--open_scopes == 0 && threads_before > 1) openblas_set_num_threads(threads_before);
}

}  // namespace amp::cpu
