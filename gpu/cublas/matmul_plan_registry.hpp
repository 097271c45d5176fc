/// Chooses and remembers the cuBLASLt algorithm of each product of one device, with its time. Each
/// product is measured once; the cache on disk keeps the choice for later starts. A device has one
/// registry (CudaDevice::products).
#pragma once

#include "gpu/cublas/matmul_cache.hpp"
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
  const MatmulCache& cache() const { return cache_; }

private:
  MatmulPlanRegistry(CudaDevice& device, std::shared_ptr<CublasLt> handle, MatmulCache cache,
                     Say say)
      : device_{device}, handle_{std::move(handle)}, cache_{std::move(cache)}, say_{std::move(
                                                                                   say)} {}
  Result<ChosenMatmul> choose(const MatmulOptions& options, bool deterministic);
  Result<ChosenMatmul> first(const MatmulOptions& options) const;
  Result<ChosenMatmul> known(const MatmulOptions& options) const;
  Result<ChosenMatmul> measured(const MatmulOptions& options) const;
  void say(const std::string& line) const;

  CudaDevice& device_;
  std::shared_ptr<CublasLt> handle_;
  MatmulCache cache_;
  Say say_;
  std::map<std::string, ChosenMatmul> chosen_;
};

} // namespace troupe::gpu
