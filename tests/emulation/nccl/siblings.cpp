#include "tests/emulation/nccl/siblings.hpp"

#include "tests/emulation/runtime/memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace emulation::nccl {

namespace {

struct Siblings {
  std::mutex mutex;
  std::map<GroupKey, std::set<int>> devices;
};

Siblings& siblings() {
  static auto* const all = new Siblings; // device threads use it until the process ends
  return *all;
}

bool copies_instead() {
  const char* const disabled = std::getenv("NCCL_P2P_DIRECT_DISABLE");
  return disabled && std::string_view{disabled} == "1";
}

/// Queries access as NCCL does before a kernel of one device accesses memory of another.
bool takes_direct_path(int from, int to) {
  int can = 0;
  return from == to || (cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can != 0);
}

} // namespace

void add_sibling(const GroupKey& group, int device) {
  auto& all = siblings();
  const std::lock_guard lock{all.mutex};
  all.devices[group].insert(device);
}

bool siblings_reach(const GroupKey& group, const void* buffer) {
  const auto found = Memory::instance().find(buffer);
  if (!found || copies_instead())
    return true;
  auto& all = siblings();
  const std::lock_guard lock{all.mutex};
  return std::ranges::all_of(all.devices[group], [&](int device) {
    return !takes_direct_path(device, found->device) || opened_to(buffer, device);
  });
}

} // namespace emulation::nccl
