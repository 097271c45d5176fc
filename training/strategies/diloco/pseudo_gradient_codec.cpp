#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include "core/device/quantized.hpp"
#include "training/flat_plan.hpp"

namespace troupe::training {

namespace {

QuantizedType quantized(Compression compression) {
  return compression == Compression::int4 ? QuantizedType::int4 : QuantizedType::int8;
}

} // namespace

std::size_t pseudo_gradient_bytes(Compression compression, std::size_t elements) {
  if (compression == Compression::none)
    return elements * sizeof(float);
  return compression == Compression::fp16 ? elements * size_of(DType::f16)
                                          : quantized_bytes(quantized(compression), elements);
}

std::size_t pseudo_gradient_granule(Compression compression) {
  return compression >= Compression::int8 ? quantized_block : shard_alignment;
}

void encode_pseudo_gradient(Device& device, Stream& stream, Compression compression,
                            const float* values, void* to, std::size_t elements) {
  if (compression == Compression::none)
    device.copy(stream, to, values, elements * sizeof(float));
  else if (compression == Compression::fp16)
    device.narrow(stream, values, to, DType::f16, elements);
  else
    device.quantize(stream, values, to, quantized(compression), elements);
}

void decode_pseudo_gradient(Device& device, Stream& stream, Compression compression,
                            const void* from, float* values, std::size_t elements) {
  if (compression == Compression::none)
    device.copy(stream, values, from, elements * sizeof(float));
  else if (compression == Compression::fp16)
    device.widen(stream, from, DType::f16, values, elements);
  else
    device.dequantize(stream, from, quantized(compression), values, elements);
}

} // namespace troupe::training
