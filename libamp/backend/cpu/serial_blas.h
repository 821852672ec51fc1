// Keeps BLAS to one thread where a body splits its work over threads itself: products started by several threads at
// once would otherwise queue for BLAS's own workers.
#pragma once

namespace amp::cpu {

/// While one lives, every BLAS call runs in the thread that makes it. [any thread]
class SerialBlas {
 public:
  SerialBlas();
  ~SerialBlas();
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;
};

}  // namespace amp::cpu
