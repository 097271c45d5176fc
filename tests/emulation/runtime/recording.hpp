/// Records launches instead of running them. Checks the grids of a step at a real size, which the
/// host's processors would take hours to run and whose memory the host does not have.
///
/// While launches are recorded, operations on device memory do nothing, memory of a device is
/// address space of any size, and a device has the multiprocessors of an H100. No time passes
/// between events: choices by measured times are the same in each run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulation {

/// Receives the function that launches a kernel, with its template arguments, and the number of
/// blocks.
using LaunchRecorder = void (*)(const char* launcher, std::uint64_t blocks);

bool is_recording();
/// Passes the launch to the recorder, if there is one.
void record_launch(const char* launcher, std::uint64_t blocks);
/// Bytes of each device's memory.
std::size_t memory_of_device();

} // namespace emulation

/// For tests: records launches from now on, or with null runs them again.
extern "C" void troupe_emulated_record(emulation::LaunchRecorder recorder);
