#include "bench/cpu/blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Fortran's interface, which all libraries have.
using Sgemm = void (*)(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* row_a,
                       const float* b, const int* row_b, const float* beta, float* c,
                       const int* row_c);

struct Unload {
  void operator()(void* library) const { dlclose(library); }
};

void set_threads(void* library, const BlasLibrary& names, int threads) {
  void* const function = dlsym(library, names.set_threads);
  if (!function)
    return;
  if (names.wide_count)
    reinterpret_cast<void (*)(std::int64_t)>(function)(threads);
  else
    reinterpret_cast<void (*)(int)>(function)(threads);
}

} // namespace

std::optional<double> sgemm_rate(const BlasLibrary& library, int size, int threads,
                                 double seconds) {
  const std::unique_ptr<void, Unload> opened{dlopen(library.file, RTLD_NOW | RTLD_LOCAL)};
  const auto sgemm = opened ? reinterpret_cast<Sgemm>(dlsym(opened.get(), "sgemm_")) : nullptr;
  if (!sgemm)
    return std::nullopt;
  set_threads(opened.get(), library, threads);
  const auto elements = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  const std::vector<float> a(elements, 1), b(elements, 1);
  std::vector<float> c(elements, 1);
  const float one = 1, zero = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (double sum = 0; sum < seconds;) {
    const auto start = Clock::now();
    sgemm("N", "N", &size, &size, &size, &one, a.data(), &size, b.data(), &size, &zero, c.data(),
          &size);
    const auto time = std::chrono::duration<double>(Clock::now() - start).count();
    fastest = std::min(fastest, time);
    sum += time;
  }
  return 2.0 * static_cast<double>(elements) * size / fastest;
}

} // namespace troupe::bench
