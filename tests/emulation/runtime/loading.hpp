/// Kernels are loaded when they are first launched, as CUDA does by default (CUDA_MODULE_LOADING).
#pragma once

#include <cstdint>
#include <functional>

namespace emulation {

/// To be called by what launches `code`. The first time on a device it waits until all that the
/// device was given has run, and holds up other threads' calls until then: who waits on the device
/// for such a call waits for ever. In a capture nothing is waited for.
void load(int device, const void* code);

/// Makes a call for which CUDA waits for an idle device: like a first load(), it waits until all
/// work has run and blocks other threads' calls until then.
void call_alone(int device, const std::function<void()>& call);

/// Of what has no code to be loaded: copies and fills of memory.
void note_launch();

/// Returns when no thread loads anything onto the device.
void wait_for_loading(int device);

} // namespace emulation

/// For tests: how often anything was launched so far, by itself or into a capture. A plan of cuDNN
/// and a product of cuBLASLt are one each.
extern "C" std::uint64_t troupe_emulated_launches();
/// For tests: how often a launch had to load something so far.
extern "C" std::uint64_t troupe_emulated_loads();
