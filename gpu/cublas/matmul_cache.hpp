/// A cache of product algorithms on disk, beside cuDNN's plans, so that the next start does not
/// measure.
#pragma once

#include "gpu/cublas/matmul.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::gpu {

struct KnownAlgorithm {
  cublasLtMatmulAlgo_t value = {};
  double microseconds = 0;
};

class MatmulCache {
public:
  /// `device` identifies what an algorithm is valid for, down to the library's version.
  MatmulCache(std::filesystem::path folder, std::string device)
      : folder_{std::move(folder)}, device_{std::move(device)} {}

  /// Returns nothing if the entry is missing or damaged.
  std::optional<KnownAlgorithm> find(const MatmulOptions& options) const;
  /// Errors: io, no_space.
  Status store(const MatmulOptions& options, const KnownAlgorithm& algorithm) const;
  std::filesystem::path path_of(const MatmulOptions& options) const;

private:
  std::string key_of(const MatmulOptions& options) const;

  std::filesystem::path folder_;
  std::string device_;
};

} // namespace troupe::gpu
