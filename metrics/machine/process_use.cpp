#include "metrics/machine/process_use.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace troupe::metrics {

namespace fs = std::filesystem;

namespace {

/// Indices of the fields of /proc/self/stat after the name, which may contain blanks; the state,
/// the third field, has index 0.
struct StatField {
  static constexpr std::size_t user = 11, system = 12, threads = 17, start = 19, size = 20,
                               pages = 21;
};

std::vector<double> read_stat() {
  std::ifstream in{"/proc/self/stat"};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  std::istringstream behind_name{text.substr(text.rfind(')') + 1)};
  std::string state;
  behind_name >> state;
  std::vector<double> fields{0};
  for (double value = 0; behind_name >> value;)
    fields.push_back(value);
  return fields;
}

/// The time of the machine's boot, as Unix time.
double boot_time() {
  std::ifstream in{"/proc/stat"};
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("btime "))
      return std::stod(line.substr(6));
  return 0;
}

double open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator files{"/proc/self/fd", error};
  // Excludes the iterator's descriptor.
  return error ? 0 : static_cast<double>(std::distance(begin(files), end(files))) - 1;
}

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

std::optional<ProcessUse> process_use() {
  const auto stat = read_stat();
  if (stat.size() <= StatField::pages)
    return std::nullopt;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return ProcessUse{.cpu_seconds = (stat[StatField::user] + stat[StatField::system]) / ticks,
                    .resident_bytes =
                        stat[StatField::pages] * static_cast<double>(::sysconf(_SC_PAGESIZE)),
                    .virtual_bytes = stat[StatField::size],
                    .start_time = boot_time() + stat[StatField::start] / ticks,
                    .threads = stat[StatField::threads],
                    .open_files = open_files(),
                    .most_files = static_cast<double>(files.rlim_cur)};
}

std::vector<HostMemory> host_memory(const SystemFiles& files) {
  std::vector<HostMemory> all;
  add_host(files, all);
  add_cgroup(files, all);
  add_address_space(files, all);
  return all;
}

} // namespace troupe::metrics
