/// Kernels are loaded at their first launch, as CUDA does by default (CUDA_MODULE_LOADING).
#pragma once

#include <cstdint>
#include <functional>

namespace emulation {

/// Call before launching `code`. The first call on a device waits until all work of the device has
/// run, and blocks calls of other threads until then: work on the device that waits for such a call
/// deadlocks. So a first call while a stream waits for the host is an error, even if that wait
/// would end (Settings::late_loads allows it); `name` tells what was launched. During a capture, it
/// does not wait.
void load(int device, const void* code, const char* name);

/// Call when a stream of the device will wait until the host writes `value` or more to `word`, and
/// when the wait has ended.
void begin_host_wait(int device, std::uint32_t* word, std::uint32_t value);
void end_host_wait(int device, std::uint32_t* word);
/// Whether the host has written `value` or more.
bool is_written(std::uint32_t* word, std::uint32_t value);

/// Makes a call for which CUDA waits for an idle device: like a first load(), it waits until all
/// work has run and blocks other threads' calls until then.
void call_alone(int device, const std::function<void()>& call);

/// Makes a call for which CUDA waits until all devices of the process are idle.
void call_alone_on_all(const std::function<void()>& call);

/// Counts launches without code to load: copies and fills of memory.
void note_launch();

/// Returns when no thread loads code onto the device.
void wait_for_loading(int device);

} // namespace emulation

/// For tests: returns the number of launches so far, immediate or into a capture. A plan of cuDNN
/// and a product of cuBLASLt count as one each.
extern "C" std::uint64_t troupe_emulated_launches();
/// For tests: returns how often a launch had to load code so far.
extern "C" std::uint64_t troupe_emulated_loads();
