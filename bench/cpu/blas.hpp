/// Matrix products of BLAS libraries that are loaded when the program runs.
#pragma once

#include <optional>
#include <string>

namespace troupe::bench {

/// A library and its names for what is used here.
struct BlasLibrary {
  const char* name;
  const char* file;        ///< as the dynamic linker finds it
  const char* package;     ///< of Debian
  const char* set_threads; ///< takes the number of threads
  bool wide_count;         ///< set_threads takes 64 bits
};

inline constexpr BlasLibrary openblas = {"OpenBLAS", "libopenblas.so.0", "libopenblas0-openmp",
                                         "openblas_set_num_threads", false};
inline constexpr BlasLibrary blis = {"BLIS", "libblis.so.4", "libblis4-openmp",
                                     "bli_thread_set_num_threads", true};

/// Returns the operations per second of the library's sgemm, the fastest run of those in `seconds`:
/// square matrices of `size` rows. Returns nothing if the library cannot be loaded.
std::optional<double> sgemm_rate(const BlasLibrary& library, int size, int threads, double seconds);

} // namespace troupe::bench
