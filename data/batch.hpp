/// Fills one micro-batch: the sampler chooses the samples, the adapter converts them to model
/// input.
#pragma once

#include "core/device/batch.hpp"
#include "core/device/device.hpp"
#include "data/adapter.hpp"
#include "data/sampler.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::data {

/// Host-readable memory of one micro-batch. The data loader and the worker pass it back and forth;
/// each buffer is one credit of the flow control.
struct BatchBuffer {
  std::vector<BufferPtr> memory; ///< one buffer per field
  BatchView view;
  std::int64_t samples = 0;

  /// Returns the memory that BatchAssembler::fill writes.
  std::vector<std::span<std::byte>> fields() const;
};

/// Immutable, so any thread may fill any batch. Results depend only on the arguments.
class BatchAssembler {
public:
  BatchAssembler(AdapterPtr adapter, const DistributedSampler& sampler)
      : adapter_{std::move(adapter)}, sampler_{sampler} {}

  const Dataset& dataset() const { return adapter_->dataset(); }
  const Adapter& adapter() const { return *adapter_; }
  const DistributedSampler& sampler() const { return sampler_; }
  /// Returns an assembler of the same data in the order of another sampler.
  BatchAssembler with(const DistributedSampler& sampler) const { return {adapter_, sampler}; }

  /// Returns a tensor without data for each field, with room for the largest slice of the batch.
  Result<BatchView> tensors(const Slice& slice) const;
  /// Allocates those tensors in memory of kind MemoryKind::data.
  Result<BatchBuffer> allocate(Device& device, const Slice& slice) const;

  /// Writes the samples of a slice to `to`, which has room for sampler().largest_slice(slice)
  /// samples; the rest is padding. Blocks while it reads files: call it on a host stream or a
  /// thread, not in a message handler. Errors: those of the sampler and Adapter::fill.
  Status fill(Position at, const Slice& slice, Fields to) const;

private:
  AdapterPtr adapter_;
  DistributedSampler sampler_;
};

/// Return the assemblers of a run. Training has data.batch_size samples over all ranks, augmented,
/// in the order that data.shuffle sets. Evaluation has data.eval_batch_size samples on each of
/// `world_size` ranks, each sample once, in order.
Result<BatchAssembler> training_batches(const Config& config);
Result<BatchAssembler> evaluation_batches(const Config& config, int world_size = 1);
/// Returns the assembler of evaluation for another number of ranks, with `batch` samples on each.
Result<BatchAssembler> assigned(const BatchAssembler& evaluation, std::int64_t batch,
                                int world_size);

} // namespace troupe::data
