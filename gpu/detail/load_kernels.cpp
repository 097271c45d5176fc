#include "gpu/detail/load_kernels.hpp"

#include "core/fail.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/kernels/sum.hpp"

#include <span>

namespace troupe::gpu {

namespace {

constexpr DType float_types[] = {DType::f32, DType::f16, DType::bf16};
constexpr DType other_types[] = {DType::f64, DType::i32, DType::u8};
/// Elements per buffer: more than one 16-byte access of any type.
constexpr std::size_t few = 32;

/// Zeroed device memory in parts.
struct Parts {
  float *values, *others, *state0, *state1;
  double* norm;
  LossScaleState* scaler;

  /// `skew` shifts the addresses by elements, off their alignment, to load the kernels for single
  /// elements.
  Parts(std::byte* memory, std::size_t skew)
      : values{part(memory, 0) + skew}, others{part(memory, 1) + skew}, state0{part(memory, 2) +
                                                                               skew},
        state1{part(memory, 3) + skew}, norm{reinterpret_cast<double*>(part(memory, 4))},
        scaler{reinterpret_cast<LossScaleState*>(part(memory, 5))} {}

  static constexpr std::size_t bytes = 512, count = 6;
  static float* part(std::byte* memory, std::size_t index) {
    return reinterpret_cast<float*>(memory + index * bytes);
  }
};

void launch_conversions(CudaDevice& device, Stream& stream, const Parts& parts) {
  for (const auto type : float_types) {
    device.narrow(stream, parts.values, parts.others, type, few);
    device.widen(stream, parts.others, type, parts.values, few);
  }
  for (const auto type : {QuantizedType::int8, QuantizedType::int4}) {
    device.quantize(stream, parts.values, parts.others, type, few);
    device.dequantize(stream, parts.others, type, parts.values, few);
  }
  device.round(stream, parts.values, DType::f16, few);
  device.add(stream, parts.values, parts.others, few);
  device.add_product(stream, parts.values, parts.others, parts.others, few);
  device.scale(stream, parts.values, 0.5f, few);
}

/// The copies of all parameters in a narrow type (CudaExecutable::refresh_all).
void launch_refreshes(CudaStream& stream, const Parts& parts) {
  const CastRange range{parts.values, parts.others, few};
  for (const auto type : {DType::f16, DType::bf16})
    stream.enqueue("refresh", [&](cudaStream_t raw) {
      launch_cast_ranges(raw, {&range, 1}, DType::f32, type);
    });
}

void launch_optimizers(CudaDevice& device, Stream& stream, const Parts& parts) {
  const OptimizerArguments sgd, momentum{.momentum = 0.9f}, adam{.kind = OptimizerKind::adam};
  const OptimizerViews views{parts.values, parts.others, parts.state0, parts.state1, few};
  device.check_finite(stream, parts.others, few, &parts.scaler->found_inf);
  device.add_squared_norm(stream, sgd, parts.others, few, parts.norm, nullptr);
  device.clip_factor(stream, parts.norm, 1, parts.state0);
  for (const auto& arguments : {sgd, momentum, adam})
    device.optimizer_step(stream, arguments, views, nullptr, nullptr);
  device.update_loss_scale(stream, {}, parts.scaler);
  device.count_update(stream, reinterpret_cast<std::int64_t*>(parts.norm));
  device.keep(stream, parts.state0, parts.others, few * sizeof(float));
  device.keep(stream, parts.state0, parts.others, sizeof(float));
}

void launch_sums(CudaStream& stream, const Parts& parts, std::span<const DType> types) {
  const SumSources sources{.data = {parts.values, parts.others}, .count = 2};
  for (const auto type : types)
    stream.enqueue(
        "sum", [&](cudaStream_t raw) { launch_sum(raw, type, sources, parts.values, few / 2); });
}

} // namespace

Status load_flat_kernels(CudaDevice& device) {
  TROUPE_TRY(const auto memory,
             device.allocate(Parts::bytes * Parts::count, MemoryKind::workspace));
  const auto stream = device.create_stream({.name = "load"});
  for (const std::size_t skew : {0, 1}) {
    const Parts parts{memory->data(), skew};
    launch_conversions(device, *stream, parts);
    launch_refreshes(cuda_stream(*stream), parts);
    launch_optimizers(device, *stream, parts);
    launch_sums(cuda_stream(*stream), parts, float_types);
  }
  launch_sums(cuda_stream(*stream), {memory->data(), 0}, other_types);
  return stream->synchronize();
}

} // namespace troupe::gpu
