/// Fills one micro-batch: which samples (sampler), their pixels (dataset), as the model takes them
/// (augment).
#pragma once

#include "augment.hpp"
#include "dataset.hpp"
#include "sampler.hpp"
#include "troupe/core/device/device.hpp"

#include <cstdint>
#include <span>

namespace troupe::data {

/// Host-readable memory of one micro-batch; it travels between loader and worker as a credit.
struct BatchBuffer {
  BufferPtr images; ///< f32 (samples, image_size, image_size, channels)
  BufferPtr labels; ///< i32 (samples); -1: padding, ignored
  std::int64_t samples = 0;

  std::span<float> image_span() const {
    return {images->floats(), images->bytes() / sizeof(float)};
  }
  std::span<std::int32_t> label_span() const {
    return {reinterpret_cast<std::int32_t*>(labels->data()), static_cast<std::size_t>(samples)};
  }
};

/// Immutable, so any thread may fill any batch; results depend on nothing but the arguments.
class BatchAssembler {
public:
  BatchAssembler(DatasetPtr dataset, const DistributedSampler& sampler,
                 const AugmentOptions& augment);

  const Dataset& dataset() const { return *dataset_; }
  const DistributedSampler& sampler() const { return sampler_; }
  const Augment& augment() const { return augment_; }
  /// The same data in the order of another sampler.
  BatchAssembler with(const DistributedSampler& sampler) const {
    return {dataset_, sampler, augment_.options()};
  }
  /// Floats of one image.
  std::size_t image_elements() const { return augment_.elements(); }

  /// Memory for a slice as large as any of its batch, of kind MemoryKind::data.
  Result<BatchBuffer> allocate(Device& device, const Slice& slice) const;

  /// Writes images (N, H, W, C) and labels of a slice, N = sampler().largest_slice(slice); padding
  /// is zero images with label -1. `images` may be longer than needed. Blocks while it reads files:
  /// for a host stream or a thread, not for a handler. Errors: of the sampler and of Dataset::read.
  Status fill(Position at, const Slice& slice, std::span<float> images,
              std::span<std::int32_t> labels) const;

private:
  DatasetPtr dataset_;
  DistributedSampler sampler_;
  Augment augment_;
};

/// The two assemblers of a run, from its config: training (data.batch_size over all ranks,
/// in the order that data.shuffle says, augmented) and evaluation (data.eval_batch_size on each of
/// `world_size` ranks, in order, once).
Result<BatchAssembler> training_batches(const Config& config);
Result<BatchAssembler> evaluation_batches(const Config& config, int world_size = 1);
/// Those of evaluation for another number of ranks: `batch` samples on each.
Result<BatchAssembler> dealt(const BatchAssembler& evaluation, std::int64_t batch, int world_size);

} // namespace troupe::data
