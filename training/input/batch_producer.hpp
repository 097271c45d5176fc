/// Producers of micro-batches in a device's memory. They differ in where pixels come from and what
/// augments them.
#pragma once

#include "data/batch.hpp"
#include "training/input/host_loader.hpp"
#include "training/input/micro_batch.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

/// Fills micro-batches for one rank and one pass mode. Used only by the DATA LOADER. Has memory for
/// `slots` micro-batches; the caller chooses the slot.
class BatchProducer {
public:
  explicit BatchProducer(std::shared_ptr<const data::BatchAssembler> assembler)
      : assembler_{std::move(assembler)} {}
  virtual ~BatchProducer() = default;

  /// Chooses the samples of its batches.
  const data::DistributedSampler& sampler() const { return assembler_->sampler(); }
  virtual std::int32_t slots() const = 0;
  /// Enqueues; never blocks. Returns the micro-batch that is being filled, without pass mode and
  /// index. Precondition: nothing reads the slot.
  MicroBatch fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                  const LoadFailed& failed);

protected:
  const std::shared_ptr<const data::BatchAssembler>& assembler() const { return assembler_; }

private:
  virtual const BatchView& view(std::int32_t slot) const = 0;
  /// Returns the event after which the slot may be read.
  virtual EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                           const LoadFailed& failed) = 0;

  std::shared_ptr<const data::BatchAssembler> assembler_;
};

/// Makes batches for the host device: host streams read, augment and write them.
class HostProducer final : public BatchProducer {
public:
  HostProducer(std::shared_ptr<const data::BatchAssembler> assembler,
               std::vector<data::BatchBuffer> buffers, HostLoader host)
      : BatchProducer{std::move(assembler)}, buffers_{std::move(buffers)}, host_{std::move(host)} {}

  std::int32_t slots() const override { return static_cast<std::int32_t>(buffers_.size()); }

private:
  const BatchView& view(std::int32_t slot) const override { return buffer(slot).view; }
  EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                   const LoadFailed& failed) override;
  const data::BatchBuffer& buffer(std::int32_t slot) const {
    return buffers_[static_cast<std::size_t>(slot)];
  }

  std::vector<data::BatchBuffer> buffers_;
  HostLoader host_;
};

} // namespace troupe::training
