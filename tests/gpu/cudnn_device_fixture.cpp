#include "tests/gpu/cudnn_device_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>

namespace troupe::testing {

using namespace gpu;
using namespace gpu::cudnn;

namespace {

std::size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

std::vector<std::byte> encode(const std::vector<float>& values, cudnnDataType_t type) {
  std::vector<std::byte> bytes(values.size() * bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto* at = bytes.data() + i * bytes_of(type);
    if (type == CUDNN_DATA_HALF) {
      const auto half = __float2half_rn(values[i]);
      std::memcpy(at, &half, sizeof(half));
    } else if (type == CUDNN_DATA_BFLOAT16) {
      const auto half = __float2bfloat16_rn(values[i]);
      std::memcpy(at, &half, sizeof(half));
    } else {
      std::memcpy(at, &values[i], sizeof(float));
    }
  }
  return bytes;
}

std::vector<float> decode(const std::vector<std::byte>& bytes, cudnnDataType_t type) {
  std::vector<float> values(bytes.size() / bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* at = bytes.data() + i * bytes_of(type);
    if (type == CUDNN_DATA_HALF) {
      __half half;
      std::memcpy(&half, at, sizeof(half));
      values[i] = __half2float(half);
    } else if (type == CUDNN_DATA_BFLOAT16) {
      __nv_bfloat16 half;
      std::memcpy(&half, at, sizeof(half));
      values[i] = __bfloat162float(half);
    } else {
      std::memcpy(&values[i], at, sizeof(float));
    }
  }
  return values;
}

/// Calls visit(x index, w index, y index) for every product of the convolution.
template <class Visit>
void for_each_product(const ConvolutionProblem& p, const Visit& visit) {
  const auto [batch, out, out_height, out_width] = p.y();
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t oh = 0; oh < out_height; ++oh)
      for (std::int64_t ow = 0; ow < out_width; ++ow)
        for (std::int64_t k = 0; k < out; ++k)
          for (std::int64_t r = 0; r < p.kernel; ++r)
            for (std::int64_t s = 0; s < p.kernel; ++s) {
              const auto h = oh * p.stride - p.padding + r;
              const auto w = ow * p.stride - p.padding + s;
              if (h < 0 || h >= p.height || w < 0 || w >= p.width)
                continue;
              for (std::int64_t c = 0; c < p.in; ++c)
                visit(static_cast<std::size_t>(((n * p.height + h) * p.width + w) * p.in + c),
                      static_cast<std::size_t>(((k * p.kernel + r) * p.kernel + s) * p.in + c),
                      static_cast<std::size_t>(((n * out_height + oh) * out_width + ow) * out + k));
            }
}

} // namespace

Target gpu_or_skip() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    SKIP("no CUDA device");
  const auto library = open_cudnn(library_places_of_process());
  if (!library)
    SKIP(library.error().message);
  auto target = Target::of_device(*library, 0);
  if (!target)
    FAIL(target.error().message);
  return std::move(*target);
}

float rounded(float value, cudnnDataType_t type) {
  return decode(encode({value}, type), type).front();
}

std::vector<float> random_values(std::size_t count, unsigned seed, cudnnDataType_t type, float low,
                                 float high) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (auto& value : values)
    value = rounded(distribution(generator), type);
  return values;
}

std::size_t elements_of(const Dims& dims) {
  return static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]);
}

DeviceTensors::DeviceTensors(const OperationGraph& graph, const DeviceValues& inputs,
                             std::size_t workspace_bytes)
    : graph_(graph), workspace_bytes_(workspace_bytes) {
  for (const auto& tensor : graph.tensors) {
    if (!tensor.is_bound())
      continue;
    const auto bytes = elements_of(tensor.dims) * bytes_of(tensor.type);
    void* data = nullptr;
    REQUIRE(cudaMalloc(&data, bytes) == cudaSuccess);
    bindings_.push_back({tensor.uid, data});
    const auto input = inputs.find(tensor.uid);
    if (input == inputs.end()) {
      REQUIRE(cudaMemset(data, 0xff, bytes) == cudaSuccess); // NaN in every type
      continue;
    }
    const auto encoded = encode(input->second, tensor.type);
    REQUIRE(encoded.size() == bytes);
    REQUIRE(cudaMemcpy(data, encoded.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
  }
  if (workspace_bytes > 0)
    REQUIRE(cudaMalloc(&workspace_, workspace_bytes) == cudaSuccess);
}

DeviceTensors::~DeviceTensors() {
  for (const auto& binding : bindings_)
    cudaFree(binding.data);
  cudaFree(workspace_);
}

DeviceValues DeviceTensors::read() const {
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  DeviceValues values;
  for (const auto& binding : bindings_) {
    const auto* tensor = graph_.find(binding.uid);
    std::vector<std::byte> bytes(elements_of(tensor->dims) * bytes_of(tensor->type));
    REQUIRE(cudaMemcpy(bytes.data(), binding.data, bytes.size(), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    values[binding.uid] = decode(bytes, tensor->type);
  }
  return values;
}

std::optional<DeviceValues> run_on_gpu(const Target& target, const OperationGraph& graph,
                                       const DeviceValues& inputs, const PlanPolicy& policy) {
  const auto plans = find_plans(target, graph, policy);
  if (!plans) {
    UNSCOPED_INFO(plans.error().message);
    return std::nullopt;
  }
  const auto& plan = plans->front();
  const DeviceTensors tensors(graph, inputs, plan.workspace_bytes());
  REQUIRE(target.use_stream(nullptr));
  const auto buffers = tensors.buffers();
  const auto status = plan.execute(target, buffers.bindings, buffers.workspace);
  INFO(graph.name << ", " << plan.tag() << ": " << (status ? "" : status.error().message));
  REQUIRE(status);
  return tensors.read();
}

void require_near(const std::vector<float>& values, const std::vector<double>& expected,
                  double tolerance) {
  REQUIRE(values.size() == expected.size());
  double largest = 0;
  for (const auto value : expected)
    largest = std::max(largest, std::abs(value));
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto difference = std::isfinite(values[i]) ? std::abs(values[i] - expected[i])
                                                     : std::numeric_limits<double>::infinity();
    if (difference > worst) {
      worst = difference;
      at = i;
    }
  }
  INFO("at " << at << ": " << values[at] << ", expected " << expected[at] << ", largest "
             << largest);
  REQUIRE(worst <= tolerance * largest);
}

std::vector<double> true_forward(const ConvolutionProblem& problem, const std::vector<float>& x,
                                 const std::vector<float>& w) {
  std::vector<double> y(elements_of(problem.y()));
  for_each_product(problem, [&](std::size_t i, std::size_t j, std::size_t k) {
    y[k] += static_cast<double>(x[i]) * w[j];
  });
  return y;
}

std::vector<double> true_backward_data(const ConvolutionProblem& problem,
                                       const std::vector<float>& dy, const std::vector<float>& w) {
  std::vector<double> dx(elements_of(problem.x()));
  for_each_product(problem, [&](std::size_t i, std::size_t j, std::size_t k) {
    dx[i] += static_cast<double>(dy[k]) * w[j];
  });
  return dx;
}

std::vector<double> true_backward_filter(const ConvolutionProblem& problem,
                                         const std::vector<float>& x,
                                         const std::vector<float>& dy) {
  std::vector<double> dw(elements_of(problem.w()));
  for_each_product(problem, [&](std::size_t i, std::size_t j, std::size_t k) {
    dw[j] += static_cast<double>(x[i]) * dy[k];
  });
  return dw;
}

std::vector<double> channel_sums(const std::vector<double>& values, std::int64_t channels,
                                 int power) {
  std::vector<double> sums(static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[i % sums.size()] += power == 1 ? values[i] : values[i] * values[i];
  return sums;
}

} // namespace troupe::testing
