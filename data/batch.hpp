/// Fills one micro-batch: which samples (sampler), as the model takes them (adapter).
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

/// Host-readable memory of one micro-batch; it travels between loader and worker as a credit.
struct BatchBuffer {
  std::vector<BufferPtr> memory; ///< of each field
  BatchView view;
  std::int64_t samples = 0;

  /// Where BatchAssembler::fill writes.
  std::vector<std::span<std::byte>> fields() const;
};

/// Immutable, so any thread may fill any batch; results depend on nothing but the arguments.
class BatchAssembler {
public:
  BatchAssembler(AdapterPtr adapter, const DistributedSampler& sampler)
      : adapter_{std::move(adapter)}, sampler_{sampler} {}

  const Dataset& dataset() const { return adapter_->dataset(); }
  const Adapter& adapter() const { return *adapter_; }
  const DistributedSampler& sampler() const { return sampler_; }
  /// The same data in the order of another sampler.
  BatchAssembler with(const DistributedSampler& sampler) const { return {adapter_, sampler}; }

  /// A tensor for each field, for a slice as large as any of its batch; without data.
  Result<BatchView> tensors(const Slice& slice) const;
  /// Their memory, of kind MemoryKind::data.
  Result<BatchBuffer> allocate(Device& device, const Slice& slice) const;

  /// Writes the samples of a slice to room for sampler().largest_slice(slice) of them; the rest of
  /// that room gets padding. Blocks while it reads files: for a host stream or a thread, not for a
  /// handler. Errors: of the sampler and of Adapter::fill.
  Status fill(Position at, const Slice& slice, Fields to) const;

private:
  AdapterPtr adapter_;
  DistributedSampler sampler_;
};

/// The two assemblers of a run, from its config: training (data.batch_size over all ranks,
/// in the order that data.shuffle says, augmented) and evaluation (data.eval_batch_size on each of
/// `world_size` ranks, in order, once).
Result<BatchAssembler> training_batches(const Config& config);
Result<BatchAssembler> evaluation_batches(const Config& config, int world_size = 1);
/// The assembler of evaluation for another number of ranks: `batch` samples on each.
Result<BatchAssembler> assigned(const BatchAssembler& evaluation, std::int64_t batch,
                                int world_size);

} // namespace troupe::data
