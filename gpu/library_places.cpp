#include "gpu/library_places.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace troupe::gpu {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, ':');)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

/// Returns the subfolders of `folder`, sorted, so that the search order does not depend on the file
/// system.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(folder, ignored); entry != fs::directory_iterator();
       entry.increment(ignored))
    if (entry->is_directory(ignored))
      found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

void add(LibraryPlaces& places, const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) &&
      std::find(places.begin(), places.end(), folder) == places.end())
    places.push_back(folder);
}

/// Adds the folders that pip and conda install to:
/// PREFIX/lib/python3.X/site-packages/nvidia/cudnn/lib and the like. Debian's Python has
/// dist-packages, and pip's are below local/.
void add_python(LibraryPlaces& places, const fs::path& prefix) {
  for (const auto* lib : {"lib", "lib64", "local/lib"})
    for (const auto& python : folders_in(prefix / lib)) {
      if (python.filename().string().rfind("python3", 0) != 0)
        continue;
      for (const auto* packages : {"site-packages", "dist-packages"})
        for (const auto& package : folders_in(python / packages / "nvidia"))
          add(places, package / "lib");
    }
}

/// Adds the prefixes of the first python3 in $PATH: that of its environment, and that of the Python
/// that the environment was created with.
void add_python_of_path(LibraryPlaces& places, const std::string& path) {
  std::error_code error;
  for (const auto& folder : split(path)) {
    const auto python = fs::path(folder) / "python3";
    if (!fs::exists(python, error))
      continue;
    add_python(places, fs::path(folder).parent_path());
    if (const auto real = fs::canonical(python, error); !error)
      add_python(places, real.parent_path().parent_path());
    return;
  }
}

/// Returns the source tree in which the program was built: the folder above the build folder, if
/// one of the program's parent folders has CMake's cache.
fs::path source_tree_of(const fs::path& program) {
  std::error_code ignored;
  auto folder = program.parent_path();
  while (folder.has_relative_path() && !fs::exists(folder / "CMakeCache.txt", ignored))
    folder = folder.parent_path();
  while (folder.has_relative_path() && !fs::exists(folder / "CMakePresets.json", ignored))
    folder = folder.parent_path();
  return folder.has_relative_path() ? folder : fs::path();
}

/// Adds the wheels that tools/bootstrap --cuda unpacked.
void add_build_tree(LibraryPlaces& places, const fs::path& program) {
  if (const auto tree = source_tree_of(program); !tree.empty())
    for (const auto& package : folders_in(tree / ".deps/cuda/nvidia"))
      add(places, package / "lib");
}

} // namespace

LibraryEnvironment LibraryEnvironment::of_process() {
  std::error_code ignored;
  return {variable("TROUPE_CUDA_LIBRARIES"), fs::read_symlink("/proc/self/exe", ignored),
          variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), variable("PATH")};
}

LibraryPlaces library_places(const LibraryEnvironment& environment) {
  LibraryPlaces places;
  for (const auto& folder : split(environment.cuda_libraries))
    add(places, folder);
  add_build_tree(places, environment.program);
  for (const auto& prefix : {environment.virtual_env, environment.conda_prefix})
    if (!prefix.empty())
      add_python(places, prefix);
  places.emplace_back();
  add(places, environment.toolkit / "lib64");
  for (const auto& target : folders_in(environment.toolkit / "targets"))
    add(places, target / "lib");
  add_python_of_path(places, environment.path);
  return places;
}

} // namespace troupe::gpu
