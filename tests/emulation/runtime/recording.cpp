#include "tests/emulation/runtime/recording.hpp"

#include "tests/emulation/runtime/settings.hpp"

#include <atomic>

namespace emulation {

namespace {

std::atomic<LaunchRecorder> current_recorder = nullptr;

} // namespace

bool is_recording() {
  return current_recorder != nullptr;
}

void record_launch(const char* launcher, std::uint64_t blocks) {
  if (const auto recorder = current_recorder.load())
    recorder(launcher, blocks);
}

std::size_t memory_of_device() {
  return is_recording() ? std::size_t{1} << 40 : settings().memory;
}

} // namespace emulation

void troupe_emulated_record(emulation::LaunchRecorder recorder) {
  emulation::current_recorder = recorder;
}
