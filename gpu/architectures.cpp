#include "gpu/architectures.hpp"

#include "core/fail.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::gpu {

namespace {

constexpr int oldest_capability = 80;

std::string remedy(int capability) {
  if (capability < oldest_capability)
    return "kernels need compute capability 8.0 or later; set devices.kind: cpu";
  return fmt::format("build troupe with -DTROUPE_CUDA_ARCHITECTURES={}", capability);
}

} // namespace

/// CMake defines both for this file.
Architectures built_architectures() {
  return {.machine_code = {TROUPE_CUDA_CODE}, .ptx = TROUPE_CUDA_PTX};
}

std::string to_string(const Architectures& built) {
  return fmt::format("sm_{}{}", fmt::join(built.machine_code, ", sm_"),
                     built.ptx > 0 ? "; PTX for later GPUs" : "");
}

Result<std::string> kernels_for(const Architectures& built, int capability) {
  const auto runs = [capability](int code) {
    return code / 10 == capability / 10 && code <= capability;
  };
  const auto& codes = built.machine_code;
  if (const auto found = std::find_if(codes.rbegin(), codes.rend(), runs); found != codes.rend())
    return fmt::format("machine code for sm_{}", *found);
  if (built.ptx > 0 && built.ptx <= capability)
    return std::string{"PTX, which the driver compiles at the first start and caches"};
  return fail(Errc::unsupported, "this program has no kernels for sm_{} (it has {}): {}",
              capability, to_string(built), remedy(capability));
}

} // namespace troupe::gpu
