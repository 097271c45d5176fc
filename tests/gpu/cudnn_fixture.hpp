/// cuDNN and described GPUs, for tests without a GPU.
#pragma once

#include "bench/gpu/described_gpu.hpp"
#include "gpu/cudnn/patterns.hpp"
#include "gpu/cudnn/plan_search.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe::testing {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string properties_of(const std::string& device) {
  return read_text(testing::source_tree() / "tests/gpu/devices" / (device + ".json"));
}

/// Opens cuDNN; skips the test when that fails.
inline gpu::CudnnLibrary cudnn_or_skip() {
  const auto library = gpu::open_cudnn(gpu::library_places_of_process());
  if (!library)
    SKIP(library.error().message);
  return *library;
}

/// `device`: a file of tests/gpu/devices. Skips the test when cuDNN cannot be opened.
inline gpu::cudnn::Target described_gpu(const std::string& device) {
  auto target = bench::target_of_properties(cudnn_or_skip(), properties_of(device));
  if (!target)
    FAIL(target.error().message);
  return std::move(*target);
}

/// A small 3x3 convolution, as in a bottleneck block.
inline gpu::cudnn::ConvolutionProblem small_problem(std::int64_t kernel = 3,
                                                    std::int64_t stride = 1) {
  return {4, 16, 16, 64, 64, kernel, stride, kernel / 2, CUDNN_DATA_HALF};
}

} // namespace troupe::testing
