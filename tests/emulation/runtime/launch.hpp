/// Launches of kernels, in the form that tests/emulation/kernels_to_host.py writes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <type_traits>

namespace emulation {

/// The launch configuration between <<< and >>>.
struct Launch {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;

  /// Copies the arguments at the call, as a launch does. `launcher` names the function that
  /// launches.
  template <class Kernel, class... Arguments>
  void operator()(const char* launcher, Kernel kernel, Arguments... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...));
    static_assert((sizeof(Arguments) + ... + 0) <= 4096, "more than a kernel's parameters may be");
    if ((reachable(arguments) && ...))
      enqueue(launcher, &loaded_by<Kernel>, [=] { kernel(arguments...); });
  }

private:
  /// Its address stands for a kernel.
  template <class Kernel>
  static inline char loaded_by = 0;

  void enqueue(const char* launcher, const void* kernel, std::function<void()> thread) const;
  bool reachable_address(const void* address) const;
  /// Checks that a pointer argument is accessible to the stream's device. Pointers inside
  /// structures are not checked.
  template <class Argument>
  bool reachable(const Argument& argument) const {
    if constexpr (std::is_pointer_v<Argument>)
      return reachable_address(argument);
    else
      return true;
  }
};

} // namespace emulation
