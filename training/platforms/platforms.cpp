#include "training/platforms/platforms.hpp"

#include "core/config/config.hpp"
#include "core/cores.hpp"
#include "core/fail.hpp"
#include "training/platforms/detail/registered.hpp"

#include <algorithm>
#include <array>

namespace troupe::training {

std::span<const Platform> platforms() {
  static const std::array all{cuda_platform(), host_platform()};
  return all;
}

const Platform& platform_of(const DevicesConfig& devices) {
  const auto all = platforms();
  if (const auto asked = std::ranges::find(all, devices.kind, &Platform::kind); asked != all.end())
    return *asked;
  return *std::ranges::find_if(all, [&](const Platform& p) { return p.suits(devices); });
}

int threads_per_worker(const DevicesConfig& devices) {
  if (devices.threads_per_worker > 0)
    return static_cast<int>(devices.threads_per_worker);
  return static_cast<int>(std::max<std::int64_t>(1, usable_cores().count() / devices.count));
}

Capabilities machine_capabilities() {
  auto found = host_capabilities();
  for (const auto& platform : platforms())
    platform.add_capabilities(found);
  return found;
}

Status prepare_process() {
  for (const auto& platform : platforms())
    TROUPE_TRY(platform.prepare_process());
  return {};
}

} // namespace troupe::training
