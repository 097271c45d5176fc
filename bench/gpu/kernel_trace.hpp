/// Records with CUPTI when each kernel and copy ran on the device.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe::bench {

struct KernelSpan {
  std::string name;                 ///< mangled; "copy" for a copy, "fill" for a fill
  std::uint64_t begin = 0, end = 0; ///< ns, on one clock
};

/// Share of the time, from the start of the first span to the end of the last, in which no kernel
/// or copy ran. Spans may overlap and be in any order. 0 for no spans.
double idle_ratio(std::vector<KernelSpan> spans);

/// Records from construction to finish(), including each kernel of a CUDA graph. CUPTI slows each
/// launch a little, so idle gaps are upper bounds. One at a time per process.
class KernelTrace {
public:
  /// Errors: unsupported if libcupti is in none of the default places, or may not be used (drivers
  /// can restrict performance tools to administrators).
  static Result<std::unique_ptr<KernelTrace>> begin();
  ~KernelTrace();

  /// Returns the recorded spans. Precondition: the device has done all work.
  Result<std::vector<KernelSpan>> finish();

private:
  KernelTrace() = default;
};

} // namespace troupe::bench
