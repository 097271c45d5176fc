#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <array>
#include <atomic>
#include <cstring>

namespace emulation {

namespace {

thread_local int current = 0;
thread_local bool bound = false;
std::array<std::atomic<bool>, 8> contexts = {}; ///< by device
std::atomic<bool> peers_reachable = true, pools_open = true;

bool exists(int device) {
  return device >= 0 && device < settings().devices;
}

/// Few, so that kernels that fill the device have few blocks; while launches are recorded, as many
/// as an H100 has.
int multiprocessors() {
  return is_recording() ? 132 : 4;
}

} // namespace

int current_device() {
  return current;
}

bool has_context() {
  return bound;
}

void use_context() {
  contexts[static_cast<std::size_t>(current)] = true;
}

bool pools_may_open() {
  return pools_open;
}

} // namespace emulation

using namespace emulation;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return *count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!exists(device))
    return remember(cudaErrorInvalidDevice);
  current = device;
  bound = true;
  use_context();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  EMULATION_TRY(refuse_while_capturing());
  drain_device(current);
  return remember(standing_error());
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!exists(device))
    return remember(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "Emulated GPU");
  std::strcpy(properties->uuid.bytes, "emulated");
  properties->uuid.bytes[15] =
      static_cast<char>(settings().visible[static_cast<std::size_t>(device)]);
  properties->major = 9;
  properties->totalGlobalMem = memory_of_device();
  properties->multiProcessorCount = multiprocessors();
  properties->warpSize = 32;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!exists(device))
    return remember(cudaErrorInvalidDevice);
  switch (attribute) {
  case cudaDevAttrMemoryPoolsSupported:
    *value = 1;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMajor:
    *value = 9;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor:
    *value = 0;
    return cudaSuccess;
  case cudaDevAttrClockRate: // kHz, as of an H100
    *value = 1'980'000;
    return cudaSuccess;
  case cudaDevAttrMemoryClockRate:
    *value = 2'619'000;
    return cudaSuccess;
  case cudaDevAttrGlobalMemoryBusWidth:
    *value = 5120;
    return cudaSuccess;
  case cudaDevAttrMultiProcessorCount:
    *value = multiprocessors();
    return cudaSuccess;
  default:
    return remember(cudaErrorInvalidValue);
  }
}

/// Emulates a kernel of which a multiprocessor holds as many blocks as it has threads for:
/// registers and shared memory are not known.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t) {
  constexpr int threads_of_multiprocessor = 2048;
  if (threads <= 0 || threads > 1024)
    return remember(cudaErrorInvalidValue);
  *blocks = threads_of_multiprocessor / threads;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!exists(device) || !exists(peer))
    return remember(cudaErrorInvalidDevice);
  *can = device != peer && peers_reachable;
  return cudaSuccess;
}

/// Not supported: would give access to allocations of cudaMalloc. Pools are opened one by one
/// (cudaMemPoolSetAccess).
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return remember(cudaErrorNotSupported);
}
}

void troupe_emulated_peers(bool reachable, bool may_open) {
  peers_reachable = reachable;
  pools_open = may_open;
}

bool troupe_emulated_context(int device) {
  return contexts[static_cast<std::size_t>(device)];
}
