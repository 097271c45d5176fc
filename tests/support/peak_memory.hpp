/// Measures peak memory.
#pragma once

#include "tests/support/child_process.hpp"

#include <cstddef>
#include <functional>
#include <string>

#include <sys/resource.h>

namespace troupe::testing {

inline std::size_t peak_bytes() {
  ::rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<std::size_t>(use.ru_maxrss) * 1024;
}

/// Returns the peak memory of a child process that does `work`, above that of this process.
inline std::size_t memory_of(const std::function<void()>& work) {
  ChildProcess child{[&](int output) {
    const auto before = peak_bytes();
    work();
    write_text(output, std::to_string(peak_bytes() - before));
  }};
  return std::stoull(child.wait_for_output());
}

} // namespace troupe::testing
