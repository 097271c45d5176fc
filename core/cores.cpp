#include "core/cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include <sched.h>

namespace troupe {

namespace fs = std::filesystem;

namespace {

int cores_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Returns quota / period. "max" and -1 mean that there is no limit.
std::optional<double> quotient(std::istream& quota, std::istream& period) {
  double time = 0, interval = 0;
  if (quota >> time && period >> interval && time > 0 && interval > 0)
    return time / interval;
  return std::nullopt;
}

std::optional<double> quota_of_version_2(const fs::path& group) {
  std::ifstream both{group / "cpu.max"}; // "150000 100000"
  return quotient(both, both);
}

std::optional<double> quota_of_version_1(const fs::path& group) {
  std::ifstream quota{group / "cpu.cfs_quota_us"}, period{group / "cpu.cfs_period_us"};
  return quotient(quota, period);
}

/// A group may not use more than any of its parents.
std::optional<double> smallest_quota(const std::vector<fs::path>& groups,
                                     std::optional<double> (*quota_of)(const fs::path&)) {
  std::optional<double> found;
  for (const auto& group : groups)
    if (const auto quota = quota_of(group))
      found = std::min(*quota, found.value_or(*quota));
  return found;
}

} // namespace

int UsableCores::count() const {
  if (!quota)
    return allowed;
  return std::clamp(static_cast<int>(std::min(std::ceil(*quota), 1e6)), 1, allowed);
}

UsableCores usable_cores(const SystemFiles& files) {
  UsableCores found{.allowed = std::max(1, cores_of_affinity())};
  found.quota = smallest_quota(cgroup_folders(files, ""), quota_of_version_2);
  if (!found.quota)
    found.quota = smallest_quota(cgroup_folders(files, "cpu"), quota_of_version_1);
  return found;
}

std::string describe_cores(const UsableCores& usable, std::int64_t installed) {
  auto text = fmt::format("{} usable of {}", usable.count(), installed);
  if (usable.quota)
    text += fmt::format(" (affinity: {}, CPU quota of the control group: {:.3g})", usable.allowed,
                        *usable.quota);
  return text;
}

} // namespace troupe
