/// Control groups of Linux: the limits that a container, a service or a batch job runs under.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace troupe {

/// Where Linux describes processes and control groups. Tests write a tree of their own.
struct SystemFiles {
  std::filesystem::path proc = "/proc", cgroups = "/sys/fs/cgroup";
};

/// The folders of this process's control group and of all its parents, up to the root of the
/// hierarchy. An empty controller means the hierarchy of version 2, any other one of version 1.
/// A folder need not exist: a container may see its own group as the root, under a path of the
/// host.
std::vector<std::filesystem::path> cgroup_folders(const SystemFiles& files,
                                                  std::string_view controller);

} // namespace troupe
