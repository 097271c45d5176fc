/// When each kernel and copy of a stretch of work ran on the device, by CUPTI.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe::gpu {

struct KernelSpan {
  std::string name;                 ///< mangled; "copy", "fill"
  std::uint64_t begin = 0, end = 0; ///< ns, on one clock
};

/// Share of the time from the first span's begin to the last one's end in which none ran. Spans may
/// overlap and stand in any order. 0 for none.
double idle_ratio(std::vector<KernelSpan> spans);

/// Records from its making to finish(), kernels of CUDA graphs one by one. CUPTI makes each launch
/// a little slower, so gaps found here are upper bounds. One at a time in a process.
class KernelTrace {
public:
  /// Errors: unsupported when libcupti is in none of the usual places, or may not be used here
  /// (drivers can keep performance tools to administrators).
  static Result<std::unique_ptr<KernelTrace>> begin();
  ~KernelTrace();

  /// What was recorded. To be called when the device has done all work.
  Result<std::vector<KernelSpan>> finish();

private:
  KernelTrace() = default;
};

} // namespace troupe::gpu
