/// Chooses and remembers the cuBLASLt algorithm of each product of one device, with its time. Each
/// product is measured once; the cache on disk keeps the choice for later starts. A device has one
/// registry (CudaDevice::products).
#pragma once

#include "gpu/cublas/matmul.hpp"
#include "gpu/cuda_device.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace troupe::gpu {

struct ChosenMatmul {
  Matmul matmul;
  double microseconds = -1; ///< measured; negative: not measured
};

struct MatmulPlanRegistryOptions {
  std::filesystem::path cache; ///< a folder
  Say say{};                   ///< called with one line for each choice
};

class MatmulPlanRegistry {
public:
  /// Opens cuBLASLt for a device, which must outlive the registry. Errors: unsupported, with the
  /// places that were searched.
  static Result<std::unique_ptr<MatmulPlanRegistry>> open(CudaDevice& device,
                                                          MatmulPlanRegistryOptions options);

  /// Returns the product with the fastest measured algorithm. If `deterministic`, it takes the
  /// library's first proposal: a choice by measurement would make results depend on timing. For
  /// set-up: one thread at a time. Errors: unsupported if the library has no algorithm;
  /// out_of_memory if there was no memory to measure in.
  Result<ChosenMatmul> product(const MatmulOptions& options, bool deterministic);

private:
  MatmulPlanRegistry(CudaDevice& device, std::shared_ptr<CublasLt> handle,
                     MatmulPlanRegistryOptions options, std::string name)
      : device_{device}, handle_{std::move(handle)}, options_{std::move(options)}, name_{std::move(
                                                                                       name)} {}
  Result<ChosenMatmul> choose(const MatmulOptions& options, bool deterministic);
  Result<ChosenMatmul> first(const MatmulOptions& options) const;
  /// Reads the cache on disk, beside cuDNN's plans. Errors: unsupported if the entry is missing or
  /// damaged, or if the library rejects its algorithm.
  Result<ChosenMatmul> known(const MatmulOptions& options) const;
  /// Errors: io, no_space.
  Status store(const MatmulOptions& options, const ChosenMatmul& chosen) const;
  std::string key_of(const MatmulOptions& options) const;
  Result<ChosenMatmul> measured(const MatmulOptions& options) const;
  void say(const std::string& line) const;

  CudaDevice& device_;
  std::shared_ptr<CublasLt> handle_;
  MatmulPlanRegistryOptions options_;
  std::string name_; ///< what an algorithm is valid for, down to the library's version
  std::map<std::string, ChosenMatmul> chosen_;
};

} // namespace troupe::gpu
