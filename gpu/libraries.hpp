/// Opens CUDA's libraries at run time, so that one program starts on machines with and without
/// them.
#pragma once

#include "core/fail.hpp"
#include "gpu/library_places.hpp"

#include <cublasLt.h>
#include <cudnn.h>
#include <filesystem>
#include <string>

namespace troupe::gpu {

/// A library that stays open until the process ends: NVIDIA's libraries keep threads and handlers
/// that do not survive unloading.
class SharedLibrary {
public:
  /// Opens the first file that loads; other libraries then find it by its name. Errors:
  /// unsupported, with the places that were searched and why each file found there was rejected.
  static Result<SharedLibrary> open(const std::string& name, const LibraryPlaces& places);

  /// Null if the library has no such function.
  void* find(const char* symbol) const;
  /// Folder of the loaded file; empty: found by the loader's search.
  const std::filesystem::path& place() const { return place_; }
  /// Path of the loaded file, even if the loader found it.
  std::string file() const;
  const std::string& name() const { return name_; }

private:
  SharedLibrary(void* handle, std::string name, std::filesystem::path place);

  void* handle_;
  std::string name_;
  std::filesystem::path place_;
};

/// A version as the library numbers it, and its file. Version 0: none.
struct LibraryVersion {
  int version = 0;
  std::string file;
};

/// cuDNN's backend API. A plain table of functions; copies are fine.
struct CudnnLibrary {
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetVersion) version = nullptr;
  decltype(&::cudnnGetErrorString) error_string = nullptr;
  decltype(&::cudnnGetLastErrorString) last_error_string = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
  LibraryVersion nvrtc; ///< the compiler that engines call at run time; for example 13000
  std::string file;
};

/// Opens libcudnn.so.9, after the libraries that its engines load by name (NVRTC and its builtins,
/// cuBLASLt), so that those come from the same places. Errors: unsupported.
Result<CudnnLibrary> open_cudnn(const LibraryPlaces& places);

/// The functions of cuBLASLt that matrix products use.
struct CublasLtLibrary {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetVersion) version = nullptr;
  decltype(&::cublasLtGetStatusString) status_string = nullptr;
  decltype(&::cublasLtMatmulDescCreate) create_matmul = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) destroy_matmul = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) set_matmul_attribute = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference_attribute = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) find_algorithms = nullptr;
  decltype(&::cublasLtMatmulAlgoCheck) check_algorithm = nullptr;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) get_algorithm_attribute = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  std::string file;
};

Result<CublasLtLibrary> open_cublas_lt(const LibraryPlaces& places);

/// Fills a table of functions from a library.
class LibraryFunctions {
public:
  explicit LibraryFunctions(const SharedLibrary& library) : library_{library} {}

  template <class Function>
  void operator()(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(library_.find(symbol));
    if (function == nullptr && missing_.empty())
      missing_ = symbol;
  }

  /// Errors: unsupported, with the first missing function.
  Status done() const {
    if (missing_.empty())
      return {};
    return fail(Errc::unsupported, "{} has no function {}: another version is needed",
                library_.name(), missing_);
  }

private:
  const SharedLibrary& library_;
  std::string missing_;
};

} // namespace troupe::gpu
