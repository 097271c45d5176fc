#include "tests/gpu/reference.hpp"

#include "core/random.hpp"
#include "cpu/interpreter/ops.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace troupe::testing {

namespace {

template <class T>
std::vector<std::byte> bytes_of(const Floats& values, T (*convert)(float)) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

template <class T>
Floats floats_of(const std::vector<std::byte>& bytes, float (*convert)(T)) {
  Floats values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = convert(element);
  }
  return values;
}

std::vector<std::byte> encode(const Floats& values, DType dtype) {
  switch (dtype) {
  case DType::f16:
    return bytes_of<__half>(values, [](float v) { return __float2half_rn(v); });
  case DType::bf16:
    return bytes_of<__nv_bfloat16>(values, [](float v) { return __float2bfloat16_rn(v); });
  case DType::i32:
    return bytes_of<std::int32_t>(values, [](float v) { return static_cast<std::int32_t>(v); });
  case DType::u8:
    return bytes_of<std::uint8_t>(values, [](float v) { return static_cast<std::uint8_t>(v); });
  default:
    return bytes_of<float>(values, [](float v) { return v; });
  }
}

Floats decode(const std::vector<std::byte>& bytes, DType dtype) {
  switch (dtype) {
  case DType::f16:
    return floats_of<__half>(bytes, [](__half v) { return __half2float(v); });
  case DType::bf16:
    return floats_of<__nv_bfloat16>(bytes, [](__nv_bfloat16 v) { return __bfloat162float(v); });
  case DType::i32:
    return floats_of<std::int32_t>(bytes, [](std::int32_t v) { return static_cast<float>(v); });
  case DType::u8:
    return floats_of<std::uint8_t>(bytes, [](std::uint8_t v) { return static_cast<float>(v); });
  default:
    return floats_of<float>(bytes, [](float v) { return v; });
  }
}

} // namespace

Floats rounded(const Floats& values, DType dtype) {
  return decode(encode(values, dtype), dtype);
}

Floats normal_values(std::size_t elements, std::uint64_t stream, DType dtype) {
  CounterRng random{11, stream};
  Floats values(elements);
  for (float& value : values)
    value = random.normal();
  return rounded(values, dtype);
}

void run_reference(Op op, const Attributes& attributes, std::vector<ReferenceTensor>& inputs,
                   std::vector<ReferenceTensor>& outputs) {
  Graph graph;
  Node node{op, {}, {}, attributes};
  std::vector<std::vector<std::byte>> memory;
  for (auto* group : {&inputs, &outputs})
    for (auto& tensor : *group) {
      const auto id = graph.add_tensor({.name = "t" + std::to_string(memory.size()),
                                        .shape = tensor.shape,
                                        .dtype = tensor.dtype});
      (group == &inputs ? node.inputs : node.outputs).push_back(id);
      tensor.values.resize(static_cast<std::size_t>(tensor.shape.elements()));
      memory.push_back(encode(tensor.values, tensor.dtype));
    }
  std::vector<void*> pointers;
  for (auto& bytes : memory)
    pointers.push_back(bytes.data());
  REQUIRE(cpu::run_node(graph, node, pointers));
  std::size_t at = 0;
  for (auto* group : {&inputs, &outputs})
    for (auto& tensor : *group)
      tensor.values = decode(memory[at++], tensor.dtype);
}

GpuFixture::GpuFixture() {
  auto device = gpu::make_cuda_device(0);
  if (!device)
    SKIP("no CUDA device: " << device.error().to_string());
  device_ = std::move(*device);
  stream_ = device_->create_stream({});
}

void* GpuFixture::upload(const Floats& values, DType dtype, std::size_t skew) {
  const auto bytes = encode(values, dtype);
  const auto offset = skew * size_of(dtype);
  buffers_.push_back(device_->allocate(bytes.size() + offset, MemoryKind::data).value());
  auto* const memory = buffers_.back()->data() + offset;
  device_->copy(*stream_, memory, bytes.data(), bytes.size());
  REQUIRE(stream_->synchronize());
  return memory;
}

void* GpuFixture::room(std::size_t elements, DType dtype, std::size_t skew) {
  return upload(Floats(elements, 1.0f), dtype, skew);
}

Floats GpuFixture::download(const void* memory, std::size_t elements, DType dtype) {
  std::vector<std::byte> bytes(elements * size_of(dtype));
  // These tests launch kernels without the stream's enqueue, so launch errors are checked here.
  stream().note(gpu::cuda_status(cudaGetLastError(), "a kernel", 0));
  device_->copy(*stream_, bytes.data(), memory, bytes.size());
  REQUIRE(stream_->synchronize());
  return decode(bytes, dtype);
}

void require_near(const Floats& values, const Floats& expected, float relative,
                  const std::string& what) {
  INFO(what);
  REQUIRE(values.size() == expected.size());
  float scale = 0, worst = 0;
  std::size_t at = 0;
  for (const float value : expected)
    scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const float error = std::abs(values[i] - expected[i]); !(error <= worst)) {
      worst = error;
      at = i;
    }
  INFO("element " << at << ": " << (values.empty() ? 0 : values[at]) << ", expected "
                  << (values.empty() ? 0 : expected[at]) << ", scale " << scale);
  REQUIRE(worst <= 1e-5f + relative * scale);
}

float tolerance(DType dtype) {
  return dtype == DType::f16 ? 1e-3f : dtype == DType::bf16 ? 8e-3f : 1e-5f;
}

} // namespace troupe::testing
