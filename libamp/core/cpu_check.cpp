// Ends a program at its start, with a sentence, where the processor lacks what libamp was compiled for (AMP_CPU, see
// libamp/CMakeLists.txt). Otherwise its first vector instruction would end it with SIGILL. This file alone is compiled
// for the plainest processor.
#include "libamp/core/cpu_check.h"

#if defined(__x86_64__)
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace amp {
namespace {

// Before the constructors of other files, which may already use those instructions.
__attribute__((constructor(101))) void check_cpu() {
  if (std::strcmp(AMP_CPU_NAME, "x86-64-v3") != 0) return;  // another choice is the builder's own affair
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("f16c"))
    return;
  constexpr char kMessage[] =
      "libamp was compiled for " AMP_CPU_NAME
      ", and this processor lacks some of it (AVX2, FMA, BMI2 or F16C). Build it with -DAMP_CPU=x86-64.\n";
  if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) std::_Exit(126);
  std::_Exit(126);
}

}  // namespace
const char* compiled_for() noexcept { return AMP_CPU_NAME; }
}  // namespace amp
#else
namespace amp {
const char* compiled_for() noexcept { return ""; }
}  // namespace amp
#endif
