/// Assembles a batch from a data set of bytes in device memory: gathered, resized, cropped,
/// mirrored and normalized in one kernel. Meaning and arithmetic: core/device/augment_math.hpp,
/// data/augment.hpp.
#pragma once

#include "core/device/augment_math.hpp"
#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

/// Pointers are device memory.
struct AugmentBatch {
  const std::uint8_t* pixels = nullptr; ///< (samples, extent, source_channels), 0 to 255
  const std::int32_t* labels = nullptr; ///< (samples); may be null
  /// (batch) sample numbers; negative: a zero image with label -1. Null: image n is sample n.
  const std::int64_t* indices = nullptr;
  /// (batch) crop windows. Null: chosen by key and sample number.
  const Window* windows = nullptr;
  const std::uint64_t* key = nullptr; ///< scalar: key of the epoch; required for crop or flip

  int batch = 0; ///< at most 65535
  Extent source;
  int source_channels = 3; ///< 1 (replicated to `channels`) or `channels`
  int image_size = 224;
  int channels = 3;        ///< 1 or 3
  int stored_channels = 3; ///< of the output: 1, 3 or 4; channels beyond `channels` are 0
  bool crop = false, flip = false;
  int padding = 0; ///< zero pixels around the resized image, for random crops
  Window centre;   ///< used without crop
  float scale[3] = {1, 1, 1}, shift[3] = {}; ///< value = pixel·scale + shift

  DType dtype = DType::f32; ///< of images: f32, f16, bf16
  void* images = nullptr;   ///< (batch, image_size, image_size, stored_channels); aligned
  std::int32_t* batch_labels = nullptr; ///< (batch); written if `labels` is not null
};

void launch_augment(cudaStream_t stream, const AugmentBatch& batch);

} // namespace troupe::gpu
