#include "metrics/machine/process_use.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace troupe::metrics {

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

} // namespace troupe::metrics
