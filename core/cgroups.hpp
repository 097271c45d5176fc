/// Linux control groups: the limits of a container, a service or a batch job.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace troupe {

/// Folders in which Linux describes processes and control groups. Tests pass folders of their own.
struct SystemFiles {
  std::filesystem::path proc = "/proc", cgroups = "/sys/fs/cgroup";
};

/// Returns the folders of this process's control group and of all its parents, up to the root of
/// the hierarchy. An empty controller means the version 2 hierarchy; a name means a version 1
/// hierarchy. A folder may be missing: a container can see its group as the root although the path
/// is the host's.
std::vector<std::filesystem::path> cgroup_folders(const SystemFiles& files,
                                                  std::string_view controller);

} // namespace troupe
