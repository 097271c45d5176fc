#include "gpu/libraries.hpp"

#include "core/fail.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace troupe::gpu {

namespace fs = std::filesystem;

namespace {

/// Major version of cudart, and so of the toolkit: part of its libraries' names.
constexpr int cuda_major = CUDART_VERSION / 1000;

/// Opens NVRTC and its builtins, which NVRTC loads by a name without a folder. Returns an empty
/// version if there is no NVRTC.
LibraryVersion open_nvrtc(const LibraryPlaces& places) {
  const auto nvrtc = SharedLibrary::open(fmt::format("libnvrtc.so.{}", cuda_major), places);
  if (!nvrtc)
    return {};
  const auto version = reinterpret_cast<int (*)(int*, int*)>(nvrtc->find("nvrtcVersion"));
  int major = 0;
  int minor = 0;
  if (version == nullptr || version(&major, &minor) != 0)
    return {};
  (void)SharedLibrary::open(fmt::format("libnvrtc-builtins.so.{}.{}", major, minor),
                            nvrtc->place().empty() ? places : LibraryPlaces{nvrtc->place()});
  return {1000 * major + 10 * minor, nvrtc->file()};
}

} // namespace

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

std::string SharedLibrary::file() const {
  link_map* loaded = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &loaded) == 0 ? loaded->l_name : name_;
}

void* SharedLibrary::find(const char* symbol) const {
  return ::dlsym(handle_, symbol);
}

Result<CudnnLibrary> open_cudnn(const LibraryPlaces& places) {
  auto nvrtc = open_nvrtc(places);
  (void)SharedLibrary::open(fmt::format("libcublasLt.so.{}", cuda_major), places);
  TROUPE_TRY(const auto library,
             SharedLibrary::open(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), places));
  CudnnLibrary table;
  table.nvrtc = std::move(nvrtc);
  table.file = library.file();
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
  table.file = library.file();
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
