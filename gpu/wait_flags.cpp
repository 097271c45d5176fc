#include "gpu/wait_flags.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/device_guard.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

namespace troupe::gpu {

namespace {

/// A page of host memory. Each flag has its own word.
constexpr std::size_t flags_per_page = 1024, page_bytes = flags_per_page * sizeof(std::uint32_t);

/// Looks it up through the runtime: nothing links to the driver's library.
Result<void*> driver_function(const char* name, int device) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const auto code =
      cudaGetDriverEntryPointByVersion(name, &function, 11070, cudaEnableDefault, &found);
#else
  const auto code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  TROUPE_TRY(cuda_status(code, name, device));
  if (found != cudaDriverEntryPointSuccess || !function)
    return fail(Errc::unsupported,
                "the CUDA driver has no {}: streams of device {} cannot wait for the host", name,
                device);
  return function;
}

} // namespace

WaitFlags::~WaitFlags() {
  for (auto* const page : pages_)
    idle_calls_->free_host(page, page_bytes, device_);
}

Status WaitFlags::add_page() {
  const DeviceGuard guard{device_};
  void* memory = nullptr;
  TROUPE_TRY(
      cuda_status(cudaHostAlloc(&memory, page_bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                  "allocating page-locked memory", device_));
  auto* const page = static_cast<std::uint32_t*>(memory);
  const std::lock_guard lock{mutex_};
  pages_.push_back(page);
  for (std::size_t i = 0; i < flags_per_page; ++i)
    free_.push_back(page + i);
  return {};
}

Result<std::uint32_t*> WaitFlags::take() {
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      if (!free_.empty()) {
        auto* const flag = free_.back();
        free_.pop_back();
        std::atomic_ref<std::uint32_t>{*flag}.store(0, std::memory_order_release);
        return flag;
      }
    }
    TROUPE_TRY(add_page());
  }
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

Status WaitFlags::find_driver_functions() {
  const std::lock_guard lock{finding_};
  if (write_value_)
    return {};
  TROUPE_TRY(wait_value_, driver_function("cuStreamWaitValue32", device_));
  TROUPE_TRY(write_value_, driver_function("cuStreamWriteValue32", device_));
  return {};
}

Status WaitFlags::outcome(int code, const char* what) const {
  if (code == CUDA_SUCCESS)
    return {};
  return fail(Errc::device, "{} on CUDA device {} failed with driver error {}", what, device_,
              code);
}

Status WaitFlags::enqueue_wait(cudaStream_t stream, std::uint32_t* flag) {
  TROUPE_TRY(find_driver_functions());
  TROUPE_TRY(const auto* const address, address_on_device(flag));
  const auto wait_value = reinterpret_cast<PFN_cuStreamWaitValue32_v11070>(wait_value_);
  return outcome(
      wait_value(stream, reinterpret_cast<CUdeviceptr>(address), 1, CU_STREAM_WAIT_VALUE_GEQ),
      "a wait for the host");
}

Status WaitFlags::enqueue_raise(cudaStream_t stream, std::uint32_t* flag) {
  TROUPE_TRY(find_driver_functions());
  TROUPE_TRY(const auto* const address, address_on_device(flag));
  const auto write_value = reinterpret_cast<PFN_cuStreamWriteValue32_v11070>(write_value_);
  return outcome(
      write_value(stream, reinterpret_cast<CUdeviceptr>(address), 1, CU_STREAM_WRITE_VALUE_DEFAULT),
      "a signal to the host");
}

} // namespace troupe::gpu
