#include "metrics/machine/host_memory.hpp"

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace troupe::metrics {

namespace fs = std::filesystem;

namespace {

/// Parses lines "name 12" or "name: 12 kB".
std::map<std::string, double> read_table(const fs::path& path) {
  std::map<std::string, double> values;
  std::ifstream in{path};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::string name, unit;
    double value = 0;
    if (!(words >> name >> value))
      continue;
    if (name.ends_with(':'))
      name.pop_back();
    values[name] = words >> unit && unit == "kB" ? 1024 * value : value;
  }
  return values;
}

/// Empty for "max", which means no limit.
std::optional<double> read_number(const fs::path& path) {
  std::ifstream in{path};
  double value = 0;
  return in >> value ? std::optional{value} : std::nullopt;
}

struct GroupFiles {
  const char *use, *limit, *inactive;
};

/// Returns the group nearest to its limit.
std::optional<HostMemory> tightest(const std::vector<fs::path>& groups, const GroupFiles& files) {
  std::optional<HostMemory> found;
  for (const auto& group : groups) {
    const auto use = read_number(group / files.use);
    const auto limit = read_number(group / files.limit);
    if (!use || !limit)
      continue;
    const double used = *use - read_table(group / "memory.stat")[files.inactive];
    if (!found || used * found->limit_bytes > found->bytes * *limit)
      found = HostMemory{"cgroup", used, *limit};
  }
  return found;
}

void add_host(const SystemFiles& files, std::vector<HostMemory>& all) {
  auto memory = read_table(files.proc / "meminfo");
  if (const auto total = memory["MemTotal"]; total > 0)
    all.push_back({"host", total - memory["MemAvailable"], total});
}

void add_cgroup(const SystemFiles& files, std::vector<HostMemory>& all) {
  auto found =
      tightest(cgroup_folders(files, ""), {"memory.current", "memory.max", "inactive_file"});
  if (!found)
    found = tightest(cgroup_folders(files, "memory"),
                     {"memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"});
  // Version 1 represents "no limit" by a number beyond all memory.
  if (found && (all.empty() || found->limit_bytes <= all.front().limit_bytes))
    all.push_back(*found);
}

void add_address_space(const SystemFiles& files, std::vector<HostMemory>& all) {
  rlimit limit{};
  const auto pages = read_number(files.proc / "self/statm");
  if (pages && ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    all.push_back({"address_space", *pages * static_cast<double>(::sysconf(_SC_PAGESIZE)),
                   static_cast<double>(limit.rlim_cur)});
}

} // namespace

std::vector<HostMemory> host_memory(const SystemFiles& files) {
  std::vector<HostMemory> all;
  add_host(files, all);
  add_cgroup(files, all);
  add_address_space(files, all);
  return all;
}

} // namespace troupe::metrics
