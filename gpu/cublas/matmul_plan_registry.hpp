/// The products of one device: by which of cuBLASLt's algorithms each is computed, and how long
/// that takes. Each is measured once, also for later starts. There is one book a device
/// (CudaDevice::products).
#pragma once

#include "gpu/cublas/matmul_cache.hpp"
#include "gpu/cuda_device.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace troupe::gpu {

struct ChosenMatmul {
  Matmul matmul;
  double microseconds = -1; ///< measured; negative: never
};

struct MatmulPlanRegistryOptions {
  std::filesystem::path cache; ///< a folder
  Say say{};                   ///< told of each choice, a line each
};

class MatmulPlanRegistry {
public:
  /// Opens cuBLASLt for a device, which must outlive the book. Errors: unsupported, with what was
  /// searched.
  static Result<std::unique_ptr<MatmulPlanRegistry>> open(CudaDevice& device,
                                                          MatmulPlanRegistryOptions options);

  /// The fastest algorithm that was measured; where `deterministic` the first that the library
  /// proposes, as a measurement would decide about bits. For setting up: one thread at a time.
  /// Errors: unsupported when the library has none; out_of_memory when there was none to measure
  /// in.
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
