#include "gpu/cuda_device.hpp"

#include "core/fail.hpp"
#include "gpu/architectures.hpp"
#include "gpu/cublas/matmul_plan_registry.hpp"
#include "gpu/detail/load_kernels.hpp"
#include "gpu/device_rates.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/lowering/executable.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <cstring>
#include <fmt/format.h>

namespace troupe::gpu {

namespace {

bool is_pageable(const void* address) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
         attributes.type == cudaMemoryTypeUnregistered;
}

/// Enqueues launch(CUDA stream, arguments...).
template <class... Parameters, class... Arguments>
void enqueue(Stream& stream, const char* operation, void (*launch)(cudaStream_t, Parameters...),
             const Arguments&... arguments) {
  cuda_stream(stream).enqueue(operation, [&](cudaStream_t s) { launch(s, arguments...); });
}

/// As above, with the stream's update gate as the last argument.
template <class... Parameters, class... Arguments>
void enqueue_update(Stream& stream, const char* operation,
                    void (*launch)(cudaStream_t, Parameters...), const Arguments&... arguments) {
  auto& on = cuda_stream(stream);
  on.enqueue(operation, [&](cudaStream_t s) { launch(s, arguments..., on.update_gate()); });
}

/// Formats it as nvidia-smi does: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6".
std::string text_of(const cudaUUID_t& id) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i)
    text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        static_cast<unsigned char>(id.bytes[i]));
  return text;
}

} // namespace

CudaDevice::CudaDevice(std::shared_ptr<DeviceContext> context, DeviceInfo info)
    : context_{std::move(context)}, info_{std::move(info)} {}

CudaDevice::~CudaDevice() = default;

Result<PlanRegistry*> CudaDevice::plans() {
  if (!plans_) {
    TROUPE_TRY(plans_,
               PlanRegistry::open(*this, {.cache = PlanRegistry::default_cache(),
                                          .say = [this](const std::string& line) { say(line); }}));
  }
  return plans_.get();
}

Result<MatmulPlanRegistry*> CudaDevice::products() {
  if (!products_) {
    TROUPE_TRY(products_, MatmulPlanRegistry::open(
                              *this, {.cache = PlanRegistry::default_cache(),
                                      .say = [this](const std::string& line) { say(line); }}));
  }
  return products_.get();
}

Result<BufferPtr> CudaDevice::allocate(std::size_t bytes, MemoryKind kind) {
  return context_->memory().allocate(bytes, kind);
}

Result<BufferPtr> CudaDevice::allocate_pinned(std::size_t bytes) {
  return context_->memory().allocate_pinned(bytes);
}

Status CudaDevice::open_memory_to(int peer) const {
  if (peer == info_.index)
    return {};
  if (!reachable_from(peer))
    return fail(Errc::unsupported, "CUDA device {} cannot reach the memory of device {}", peer,
                info_.index);
  return context_->memory().open_to(peer);
}

bool CudaDevice::reachable_from(int peer) const {
  int can = 0;
  if (peer != info_.index && cudaDeviceCanAccessPeer(&can, peer, info_.index) != cudaSuccess)
    cudaGetLastError(); // clears the error: the result reports it
  return peer == info_.index || can != 0;
}

std::unique_ptr<Stream> CudaDevice::create_stream(const StreamOptions& options) {
  return std::make_unique<CudaStream>(context_, options);
}

Result<std::unique_ptr<Executable>> CudaDevice::compile(const Graph& graph,
                                                        const CompileOptions& options) {
  const DeviceGuard guard{info_.index}; // libraries use the current device
  TROUPE_TRY(auto made, CudaExecutable::create(*this, graph, options));
  return std::unique_ptr<Executable>{std::move(made)};
}

void CudaDevice::copy(Stream& stream, void* destination, const void* source, std::size_t bytes) {
  const DeviceGuard guard{info_.index};
  if (is_pageable(destination))
    return copy_out(cuda_stream(stream), destination, source, bytes);
  cuda_stream(stream).enqueue("copy", [=](cudaStream_t s) {
    cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, s);
  });
}

void CudaDevice::copy_out(CudaStream& stream, void* destination, const void* source,
                          std::size_t bytes) {
  auto staged = context_->staging().take(bytes);
  if (!staged)
    return stream.note(failure(std::move(staged).error()));
  stream.enqueue("copy", [&](cudaStream_t s) {
    cudaMemcpyAsync((*staged)->data(), source, bytes, cudaMemcpyDefault, s);
  });
  stream.on_complete([staged = *staged, destination, bytes](const Status& status) {
    if (status)
      std::memcpy(destination, staged->data(), bytes);
  });
}

void CudaDevice::zero(Stream& stream, void* destination, std::size_t bytes) {
  cuda_stream(stream).enqueue("zero",
                              [=](cudaStream_t s) { cudaMemsetAsync(destination, 0, bytes, s); });
}

void CudaDevice::add(Stream& stream, float* destination, const float* source,
                     std::size_t elements) {
  enqueue(stream, "add", launch_add, DType::f32, destination, destination, source, elements);
}

void CudaDevice::add_product(Stream& stream, float* sum, const float* a, const float* b,
                             std::size_t elements) {
  enqueue(stream, "add_product", launch_add_product, sum, a, b, elements);
}

void CudaDevice::scale(Stream& stream, float* values, float factor, std::size_t elements) {
  enqueue(stream, "scale", launch_scale, values, factor, elements);
}

void CudaDevice::round(Stream& stream, float* values, DType type, std::size_t elements) {
  if (type != DType::f32)
    enqueue(stream, "round", launch_round, values, type, elements);
}

void CudaDevice::narrow(Stream& stream, const float* source, void* destination, DType type,
                        std::size_t elements) {
  enqueue(stream, "narrow", launch_cast, source, DType::f32, destination, type, elements);
}

void CudaDevice::widen(Stream& stream, const void* source, DType type, float* destination,
                       std::size_t elements) {
  enqueue(stream, "widen", launch_cast, source, type, destination, DType::f32, elements);
}

void CudaDevice::quantize(Stream& stream, const float* source, void* destination,
                          QuantizedType type, std::size_t elements) {
  enqueue(stream, "quantize", launch_quantize, source, destination, type, elements);
}

void CudaDevice::dequantize(Stream& stream, const void* source, QuantizedType type,
                            float* destination, std::size_t elements) {
  enqueue(stream, "dequantize", launch_dequantize, source, type, destination, elements);
}

void CudaDevice::add_squared_norm(Stream& stream, const OptimizerArguments& arguments,
                                  const float* gradients, std::size_t elements, double* result,
                                  const LossScaleState* scaler) {
  auto& on = cuda_stream(stream);
  on.enqueue("add squared norm", [&](cudaStream_t s) {
    launch_add_squared_norm(s, arguments, gradients, elements, result, scaler, on.scratch());
  });
}

void CudaDevice::clip_factor(Stream& stream, const double* squared_norm, float max_norm,
                             float* factor) {
  enqueue(stream, "clip factor", launch_clip_factor, squared_norm, max_norm, factor);
}

void CudaDevice::optimizer_step(Stream& stream, const OptimizerArguments& arguments,
                                const OptimizerViews& views, const float* clip,
                                const LossScaleState* scaler) {
  enqueue_update(stream, "optimizer step", launch_optimizer_step, arguments, views, clip, scaler);
}

void CudaDevice::check_finite(Stream& stream, const float* values, std::size_t elements,
                              float* found_inf) {
  enqueue(stream, "check finite", launch_check_finite, values, elements, found_inf);
}

void CudaDevice::update_loss_scale(Stream& stream, const LossScaleOptions& options,
                                   LossScaleState* state) {
  enqueue_update(stream, "update loss scale", launch_update_loss_scale, options, state);
}

void CudaDevice::count_update(Stream& stream, std::int64_t* steps) {
  enqueue_update(stream, "count update", launch_count_update, steps);
}

void CudaDevice::keep(Stream& stream, void* destination, const void* source, std::size_t bytes) {
  enqueue_update(stream, "keep", launch_keep, destination, source, bytes);
}

void CudaDevice::gate_updates(Stream& stream, const float* votes, float needed) {
  cuda_stream(stream).gate_updates(votes, needed);
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError(); // clears the error: a missing driver means 0 devices
    return 0;
  }
  return count;
}

Result<std::unique_ptr<CudaDevice>> make_cuda_device(int index, Say say, DevicePeers peers) {
  const int count = cuda_device_count();
  if (index < 0 || index >= count)
    return fail(Errc::unsupported, "there is no CUDA device {}: this machine has {}", index, count);
  cudaDeviceProp properties = {};
  TROUPE_TRY(
      cuda_status(cudaGetDeviceProperties(&properties, index), "querying the properties", index));
  if (const auto kernels =
          kernels_for(built_architectures(), 10 * properties.major + properties.minor);
      !kernels)
    return fail(kernels.error().code, "CUDA device {} ({}): {}", index, properties.name,
                kernels.error().message);
  TROUPE_TRY(auto context, DeviceContext::create(index, std::move(peers), std::move(say)));
  TROUPE_TRY(const auto clocks, clocks_of_device(index));
  DeviceInfo info{.on_host = false,
                  .index = index,
                  .name = fmt::format("cuda:{} ({}, sm_{}{})", index, properties.name,
                                      properties.major, properties.minor),
                  .id = text_of(properties.uuid),
                  .pinned = properties.integrated == 0,
                  .memory_bytes = properties.totalGlobalMem,
                  .peak = peak_operations(clocks)};
  auto device = std::make_unique<CudaDevice>(std::move(context), std::move(info));
  TROUPE_TRY(load_flat_kernels(*device));
  return device;
}

} // namespace troupe::gpu
