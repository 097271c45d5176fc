#include "host_memory.hpp"

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace troupe::metrics {

namespace fs = std::filesystem;

namespace {

/// "name 12" or "name: 12 kB", a line each.
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

/// Empty for "max", which is none.
std::optional<double> read_number(const fs::path& path) {
  std::ifstream in{path};
  double value = 0;
  return in >> value ? std::optional{value} : std::nullopt;
}

/// The process's group in the hierarchy of this controller; "" is that of version 2.
fs::path group_of(const MemoryFiles& files, std::string_view controller) {
  std::ifstream in{files.proc / "self/cgroup"};
  for (std::string line; std::getline(in, line);) { // "4:memory:/a/b", "0::/a/b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(first + 1, second - first - 1) != controller)
      continue;
    return fs::path{line.substr(second + 1)}.relative_path();
  }
  return {};
}

struct GroupFiles {
  const char *use, *limit, *inactive;
};

/// The tightest group, from the process's own up to the root: what is near its limit first. A
/// container may see its group as the root, and itself at a path that is not there.
std::optional<HostMemory> tightest(const fs::path& root, fs::path group, const GroupFiles& files) {
  std::optional<HostMemory> found;
  for (;; group = group.parent_path()) {
    const auto use = read_number(root / group / files.use);
    const auto limit = read_number(root / group / files.limit);
    if (use && limit) {
      const double used = *use - read_table(root / group / "memory.stat")[files.inactive];
      if (!found || used * found->limit_bytes > found->bytes * *limit)
        found = HostMemory{"cgroup", used, *limit};
    }
    if (group.empty())
      return found;
  }
}

void add_host(const MemoryFiles& files, std::vector<HostMemory>& all) {
  auto memory = read_table(files.proc / "meminfo");
  if (const auto total = memory["MemTotal"]; total > 0)
    all.push_back({"host", total - memory["MemAvailable"], total});
}

void add_cgroup(const MemoryFiles& files, std::vector<HostMemory>& all) {
  auto found = tightest(files.cgroups, group_of(files, ""),
                        {"memory.current", "memory.max", "inactive_file"});
  if (!found)
    found = tightest(files.cgroups / "memory", group_of(files, "memory"),
                     {"memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"});
  // Version 1 says "no limit" as a number beyond all memory.
  if (found && (all.empty() || found->limit_bytes <= all.front().limit_bytes))
    all.push_back(*found);
}

void add_address_space(const MemoryFiles& files, std::vector<HostMemory>& all) {
  rlimit limit{};
  const auto pages = read_number(files.proc / "self/statm");
  if (pages && ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    all.push_back({"address_space", *pages * static_cast<double>(::sysconf(_SC_PAGESIZE)),
                   static_cast<double>(limit.rlim_cur)});
}

} // namespace

std::vector<HostMemory> host_memory(const MemoryFiles& files) {
  std::vector<HostMemory> all;
  add_host(files, all);
  add_cgroup(files, all);
  add_address_space(files, all);
  return all;
}

} // namespace troupe::metrics
