#include "wait_flags.hpp"

#include "cuda_error.hpp"
#include "device_guard.hpp"
#include "troupe/core/fail.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

namespace troupe::gpu {

namespace {

/// A page of the host; every flag has its word, so that a flag in use is not disturbed by others.
constexpr std::size_t flags_per_page = 1024;

} // namespace

WaitFlags::~WaitFlags() {
  for (auto* const page : pages_)
    cudaFreeHost(page);
}

Status WaitFlags::add_page() {
  const DeviceGuard guard{device_};
  void* memory = nullptr;
  TROUPE_TRY(cuda_status(cudaHostAlloc(&memory, flags_per_page * sizeof(std::uint32_t),
                                       cudaHostAllocPortable | cudaHostAllocMapped),
                         "allocating page-locked memory", device_));
  auto* const page = static_cast<std::uint32_t*>(memory);
  pages_.push_back(page);
  for (std::size_t i = 0; i < flags_per_page; ++i)
    free_.push_back(page + i);
  return {};
}

Result<std::uint32_t*> WaitFlags::take() {
  const std::lock_guard lock{mutex_};
  if (free_.empty())
    TROUPE_TRY(add_page());
  auto* const flag = free_.back();
  free_.pop_back();
  std::atomic_ref<std::uint32_t>{*flag}.store(0, std::memory_order_release);
  return flag;
}

void WaitFlags::give_back(std::uint32_t* flag) {
  const std::lock_guard lock{mutex_};
  free_.push_back(flag);
}

Result<const std::uint32_t*> WaitFlags::address_on_device(std::uint32_t* flag) const {
  const DeviceGuard guard{device_};
  void* address = nullptr;
  TROUPE_TRY(cuda_status(cudaHostGetDevicePointer(&address, flag, 0), "mapping a flag", device_));
  return static_cast<const std::uint32_t*>(address);
}

/// Through the runtime: nothing links to the driver's library.
Status WaitFlags::find_driver_function() {
  if (wait_value_)
    return {};
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  constexpr auto* name = "cuStreamWaitValue32";
#if CUDART_VERSION >= 12050
  const auto code =
      cudaGetDriverEntryPointByVersion(name, &wait_value_, 11070, cudaEnableDefault, &found);
#else
  const auto code = cudaGetDriverEntryPoint(name, &wait_value_, cudaEnableDefault, &found);
#endif
  TROUPE_TRY(cuda_status(code, "looking for cuStreamWaitValue32", device_));
  if (found != cudaDriverEntryPointSuccess || !wait_value_) {
    wait_value_ = nullptr;
    return fail(Errc::unsupported,
                "the CUDA driver has no cuStreamWaitValue32: streams of device "
                "{} cannot wait for the host",
                device_);
  }
  return {};
}

Status WaitFlags::enqueue_wait(cudaStream_t stream, std::uint32_t* flag) {
  {
    const std::lock_guard lock{mutex_};
    TROUPE_TRY(find_driver_function());
  }
  TROUPE_TRY(const auto* const address, address_on_device(flag));
  const auto wait_value = reinterpret_cast<PFN_cuStreamWaitValue32_v11070>(wait_value_);
  const auto code =
      wait_value(stream, reinterpret_cast<CUdeviceptr>(address), 1, CU_STREAM_WAIT_VALUE_GEQ);
  if (code != CUDA_SUCCESS)
    return fail(Errc::device, "a wait for the host on CUDA device {} failed with driver error {}",
                device_, static_cast<int>(code));
  return {};
}

} // namespace troupe::gpu
