/// The bits of a thread's floating-point control register that flush denormal numbers to zero.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace troupe::cpu {

/// On x86-64 results (FTZ) and operands (DAZ), bits 15 and 6 of MXCSR; on arm64 both, bit 24 of
/// FPCR (FZ).
#if defined(__x86_64__)
inline constexpr std::uint64_t flushing_bits = 0x8040;
#elif defined(__aarch64__)
inline constexpr std::uint64_t flushing_bits = 1u << 24;
#else
inline constexpr std::uint64_t flushing_bits = 0;
#endif

/// Returns those bits of the calling thread's register.
inline std::uint64_t float_mode() {
#if defined(__x86_64__)
  return _mm_getcsr() & flushing_bits;
#elif defined(__aarch64__)
  std::uint64_t all = 0;
  asm volatile("mrs %0, fpcr" : "=r"(all));
  return all & flushing_bits;
#else
  return 0;
#endif
}

/// Sets those bits; the others (rounding, exceptions) stay.
inline void set_float_mode(std::uint64_t mode) {
#if defined(__x86_64__)
  _mm_setcsr((_mm_getcsr() & ~static_cast<unsigned>(flushing_bits)) | static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  std::uint64_t all = 0;
  asm volatile("mrs %0, fpcr" : "=r"(all));
  asm volatile("msr fpcr, %0" : : "r"((all & ~flushing_bits) | mode) : "memory");
#else
  static_cast<void>(mode);
#endif
}

/// Sets a thread's bits, and restores them at the end.
class FloatModeScope {
public:
  explicit FloatModeScope(std::uint64_t mode) : before_{float_mode()} { set_float_mode(mode); }
  ~FloatModeScope() { set_float_mode(before_); }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

private:
  std::uint64_t before_;
};

} // namespace troupe::cpu
