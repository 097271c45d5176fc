// Tests models that do not need cuDNN, which is large and may be missing on a machine.
#include "bench/gpu/trainer.hpp"
#include "gpu/cuda_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace troupe;

namespace {

bool is_open(const std::string& library) {
  std::ifstream maps{"/proc/self/maps"};
  const std::string all{std::istreambuf_iterator<char>{maps}, {}};
  return all.find(library) != std::string::npos;
}

/// Runs a step.
void check_opens_no_cudnn(const bench::Options& options) {
  if (gpu::cuda_device_count() < 1)
    SKIP("no CUDA device");
  if (is_open("libcudnn"))
    return; // another test of this process has opened it
  bench::Trainer trainer{options};
  trainer.step();
  trainer.synchronize();
  CHECK_FALSE(is_open("libcudnn"));
}

} // namespace

TEST_CASE("a model without convolutions trains in amp_bf16 without cuDNN") {
  bench::Options options{.model = "mlp", .precision = Precision::amp_bf16};
  options.batch = 2;
  options.size = 32;
  check_opens_no_cudnn(options);
}

TEST_CASE("a language model with devices.fusion=basic trains in amp_bf16 without cuDNN") {
  bench::Options options{
      .model = "gpt2-mini", .precision = Precision::amp_bf16, .fusion = Fusion::basic};
  options.batch = 1;
  options.sequence = 8;
  options.vocabulary = 64;
  check_opens_no_cudnn(options);
}
