#include "core/cgroups.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace troupe {

namespace fs = std::filesystem;

namespace {

/// Whether a list such as "cpu,cpuacct" contains the controller.
bool has_controller(std::string_view list, std::string_view controller) {
  if (controller.empty() || list.empty())
    return controller == list;
  return fmt::format(",{},", list).find(fmt::format(",{},", controller)) != std::string::npos;
}

/// Version 1 mounts a hierarchy under the joined names of its controllers, mostly with a link for
/// each.
fs::path root_of(const SystemFiles& files, std::string_view controller, std::string_view list) {
  std::error_code ignored;
  const auto root = files.cgroups / controller;
  return controller.empty() || fs::exists(root, ignored) ? root : files.cgroups / list;
}

std::vector<fs::path> folders_up_to(const fs::path& root, fs::path group) {
  std::vector<fs::path> folders;
  for (; !group.empty(); group = group.parent_path())
    folders.push_back(root / group);
  folders.push_back(root);
  return folders;
}

} // namespace

std::vector<fs::path> cgroup_folders(const SystemFiles& files, std::string_view controller) {
  std::ifstream in{files.proc / "self/cgroup"};
  for (std::string line; std::getline(in, line);) { // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const auto list = std::string_view{line}.substr(first + 1, second - first - 1);
    if (has_controller(list, controller))
      return folders_up_to(root_of(files, controller, list),
                           fs::path{line.substr(second + 1)}.relative_path());
  }
  return {root_of(files, controller, controller)};
}

} // namespace troupe
