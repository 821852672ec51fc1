// What processor libamp was compiled for.
#pragma once

namespace amp {

/// The value of -march that libamp was compiled with, such as "x86-64-v3"; empty: the compiler's own choice.
const char* compiled_for() noexcept;

}  // namespace amp
