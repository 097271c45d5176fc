/// CUDA's libraries, opened at run time: one program starts on machines with and without them.
#pragma once

#include "core/error.hpp"
#include "gpu/library_places.hpp"

#include <cublasLt.h>
#include <cudnn.h>
#include <filesystem>
#include <string>

namespace troupe::gpu {

/// A library that stays open until the process ends: NVIDIA's libraries keep threads and handlers
/// that do not survive being unloaded.
class SharedLibrary {
public:
  /// Opens the first that loads; others find it by its name. Errors: unsupported, with the list of
  /// what was searched and why each found file was refused.
  static Result<SharedLibrary> open(const std::string& name, const LibraryPlaces& places);

  /// Null when the library has no such function.
  void* find(const char* symbol) const;
  /// Folder it came from; empty: the loader's search.
  const std::filesystem::path& place() const { return place_; }
  /// The file that was loaded, also where the loader found it.
  std::string file() const;
  const std::string& name() const { return name_; }

private:
  SharedLibrary(void* handle, std::string name, std::filesystem::path place);

  void* handle_;
  std::string name_;
  std::filesystem::path place_;
};

/// A version as the library numbers it, and the file; 0: none.
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
  LibraryVersion nvrtc; ///< the compiler that engines call at run time, 13000
  std::string file;
};

/// Opens libcudnn.so.9, after what its engines load by name (NVRTC and its builtins, cuBLASLt), so
/// that these come from the same places. Errors: unsupported.
Result<CudnnLibrary> open_cudnn(const LibraryPlaces& places);

/// What a matmul with a bias epilogue needs of cuBLASLt.
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

} // namespace troupe::gpu
