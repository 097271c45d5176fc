/// Selects the GPUs that the programs of a test see.
#pragma once

#include "gpu/cuda_device.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::testing {

/// Whether the GPUs are emulated: such a machine has any number of them.
inline bool emulated() {
  const auto device = gpu::make_cuda_device(0);
  return device && has((*device)->info().name, "Emulated");
}

inline void need_gpus(int count) {
  if (gpu::cuda_device_count() < count)
    SKIP("no " << count << " CUDA devices");
}

/// For programs whose GPUs are set by seeing().
inline void need_machine(int gpus) {
  if (!emulated())
    need_gpus(gpus);
}

/// Returns a command prefix with which a program sees only the given GPUs, numbered from 0 among
/// those that this program sees.
inline std::vector<std::string> seeing(const std::vector<int>& gpus) {
  std::vector<std::string> names;
  if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream in{list};
    for (std::string name; std::getline(in, name, ',');)
      names.push_back(name);
  }
  std::string visible;
  for (const auto gpu : gpus)
    visible += (visible.empty() ? "" : ",") + (names.empty() || emulated()
                                                   ? std::to_string(gpu)
                                                   : names.at(static_cast<std::size_t>(gpu)));
  const auto most = std::to_string(*std::ranges::max_element(gpus) + 1);
  return {"env", "CUDA_VISIBLE_DEVICES=" + visible, "TROUPE_EMULATED_DEVICES=" + most};
}

} // namespace troupe::testing
