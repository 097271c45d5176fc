#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include "collectives/point_to_point/message.hpp"
#include "core/device/quantized.hpp"
#include "core/fail.hpp"
#include "training/flat_plan.hpp"

namespace troupe::training {

namespace {

QuantizedType quantized(Compression compression) {
  return compression == Compression::int4 ? QuantizedType::int4 : QuantizedType::int8;
}

void encode(Device& device, Stream& stream, Compression compression, const float* values, void* to,
            std::size_t elements) {
  if (compression == Compression::none)
    device.copy(stream, to, values, elements * sizeof(float));
  else if (compression == Compression::fp16)
    device.narrow(stream, values, to, DType::f16, elements);
  else
    device.quantize(stream, values, to, quantized(compression), elements);
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

Result<BufferPtr> encode_pseudo_gradient(Device& device, Stream& stream, Compression compression,
                                         const float* values, std::size_t elements, float* rest) {
  TROUPE_TRY(auto encoded, device.allocate(pseudo_gradient_bytes(compression, elements),
                                           collectives::message_memory(device)));
  encode(device, stream, compression, values, encoded->data(), elements);
  if (rest) {
    decode_pseudo_gradient(device, stream, compression, encoded->data(), rest, elements);
    device.scale(stream, rest, -1, elements);
    device.add(stream, rest, values, elements);
  }
  return encoded;
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
