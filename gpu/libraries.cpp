#include "libraries.hpp"

#include "library_functions.hpp"

#include "troupe/core/fail.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <dlfcn.h>

namespace troupe::gpu {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(':', begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The folders in `folder`, sorted: the order of search must not depend on the file system.
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

/// PREFIX/lib/python3.X/site-packages/nvidia/cudnn/lib and its like: what pip and conda install.
/// Debian's Python has dist-packages, and pip's under local/.
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

/// The prefixes of the first python3 in $PATH: that of the environment it stands in, and that of
/// the Python it was made with.
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

/// cudart's, and so the toolkit's, major version: part of its libraries' names.
constexpr int cuda_major = CUDART_VERSION / 1000;

/// NVRTC loads its builtins by a name without a folder. Returns its version, 13000; 0: none.
int open_nvrtc(const LibraryPlaces& places) {
  const auto nvrtc = SharedLibrary::open(fmt::format("libnvrtc.so.{}", cuda_major), places);
  if (!nvrtc)
    return 0;
  const auto version = reinterpret_cast<int (*)(int*, int*)>(nvrtc->find("nvrtcVersion"));
  int major = 0;
  int minor = 0;
  if (version == nullptr || version(&major, &minor) != 0)
    return 0;
  (void)SharedLibrary::open(fmt::format("libnvrtc-builtins.so.{}.{}", major, minor),
                            nvrtc->place().empty() ? places : LibraryPlaces{nvrtc->place()});
  return 1000 * major + 10 * minor;
}

} // namespace

LibraryEnvironment LibraryEnvironment::of_process() {
  return {variable("TROUPE_CUDA_LIBRARIES"), variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"),
          variable("PATH")};
}

LibraryPlaces library_places(const LibraryEnvironment& environment) {
  LibraryPlaces places;
  for (const auto& folder : split(environment.cuda_libraries))
    add(places, folder);
  places.emplace_back();
  add(places, environment.toolkit / "lib64");
  for (const auto& target : folders_in(environment.toolkit / "targets"))
    add(places, target / "lib");
  for (const auto& prefix : {environment.virtual_env, environment.conda_prefix})
    if (!prefix.empty())
      add_python(places, prefix);
  add_python_of_path(places, environment.path);
  return places;
}

SharedLibrary::SharedLibrary(void* handle, std::string name, fs::path place)
    : handle_(handle), name_(std::move(name)), place_(std::move(place)) {}

Result<SharedLibrary> SharedLibrary::open(const std::string& name, const LibraryPlaces& places) {
  std::string searched;
  std::string refused;
  for (const auto& place : places) {
    const auto file = place.empty() ? name : (place / name).string();
    searched += fmt::format("{}{}", searched.empty() ? "" : ", ",
                            place.empty() ? "the loader's path" : place.string());
    std::error_code ignored;
    if (!place.empty() && !fs::exists(file, ignored))
      continue;
    if (auto* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE))
      return SharedLibrary(handle, name, place);
    if (!place.empty())
      refused += fmt::format("; {}", ::dlerror());
  }
  return fail(Errc::unsupported,
              "cannot open {}; searched: {} (TROUPE_CUDA_LIBRARIES adds folders){}", name,
              searched.empty() ? "nothing" : searched, refused);
}

void* SharedLibrary::find(const char* symbol) const {
  return ::dlsym(handle_, symbol);
}

Result<CudnnLibrary> open_cudnn(const LibraryPlaces& places) {
  const int nvrtc = open_nvrtc(places);
  (void)SharedLibrary::open(fmt::format("libcublasLt.so.{}", cuda_major), places);
  TROUPE_TRY(const auto library,
             SharedLibrary::open(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), places));
  CudnnLibrary table;
  table.nvrtc = nvrtc;
  LibraryFunctions fill{library};
  fill("cudnnCreate", table.create);
  fill("cudnnDestroy", table.destroy);
  fill("cudnnSetStream", table.set_stream);
  fill("cudnnGetVersion", table.version);
  fill("cudnnGetErrorString", table.error_string);
  fill("cudnnGetLastErrorString", table.last_error_string);
  fill("cudnnBackendCreateDescriptor", table.create_descriptor);
  fill("cudnnBackendDestroyDescriptor", table.destroy_descriptor);
  fill("cudnnBackendSetAttribute", table.set_attribute);
  fill("cudnnBackendGetAttribute", table.get_attribute);
  fill("cudnnBackendFinalize", table.finalize);
  fill("cudnnBackendExecute", table.execute);
  TROUPE_TRY(fill.done());
  return table;
}

Result<CublasLtLibrary> open_cublas_lt(const LibraryPlaces& places) {
  TROUPE_TRY(const auto library,
             SharedLibrary::open(fmt::format("libcublasLt.so.{}", cuda_major), places));
  CublasLtLibrary table;
  LibraryFunctions fill{library};
  fill("cublasLtCreate", table.create);
  fill("cublasLtDestroy", table.destroy);
  fill("cublasLtGetVersion", table.version);
  fill("cublasLtGetStatusString", table.status_string);
  fill("cublasLtMatmulDescCreate", table.create_matmul);
  fill("cublasLtMatmulDescDestroy", table.destroy_matmul);
  fill("cublasLtMatmulDescSetAttribute", table.set_matmul_attribute);
  fill("cublasLtMatrixLayoutCreate", table.create_layout);
  fill("cublasLtMatrixLayoutDestroy", table.destroy_layout);
  fill("cublasLtMatmulPreferenceCreate", table.create_preference);
  fill("cublasLtMatmulPreferenceDestroy", table.destroy_preference);
  fill("cublasLtMatmulPreferenceSetAttribute", table.set_preference_attribute);
  fill("cublasLtMatmulAlgoGetHeuristic", table.find_algorithms);
  fill("cublasLtMatmulAlgoCheck", table.check_algorithm);
  fill("cublasLtMatmulAlgoConfigGetAttribute", table.get_algorithm_attribute);
  fill("cublasLtMatmul", table.matmul);
  TROUPE_TRY(fill.done());
  return table;
}

} // namespace troupe::gpu
