/// Flushing of denormal numbers to zero (docs/adr/0043).
#pragma once

#include "cpu/detail/float_mode.hpp"

#include <cstdint>

namespace troupe::cpu {

/// Threads that compute in a scope.
enum class FlushedThreads : std::uint8_t {
  own,    ///< the calling thread, and others while they take parts of its work (parallel.hpp)
  library ///< also OpenMP's threads, among which oneDNN's primitives divide their work
};

/// Flushes denormal operands and results to zero during the object's lifetime. For products and
/// the ops between them, whose operations take many times as long on denormals. Not for
/// optimizers: with a tiny eps, Adam's second moments are denormal.
class FlushDenormals {
public:
  explicit FlushDenormals(FlushedThreads threads);
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

private:
  FlushedThreads threads_;
  FloatModeScope own_{flushing_bits};
};

} // namespace troupe::cpu
