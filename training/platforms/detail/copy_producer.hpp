/// Copies micro-batches that the host has written to a CUDA device: images of different sizes, rows
/// of a table.
#pragma once

#include "gpu/cuda_device.hpp"
#include "training/platforms/platform.hpp"

namespace troupe::training {

/// Host streams read and augment into page-locked memory; a stream of the device copies it. Tensors
/// are those of the assembler.
class CopyProducer final : public BatchProducer {
public:
  /// `stream`: of the device. Errors: out_of_memory; those of the sampler. The device must outlive
  /// the producer.
  static Result<std::shared_ptr<BatchProducer>>
  create(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream);

  std::int32_t slots() const override { return static_cast<std::int32_t>(slots_.size()); }

private:
  struct Slot {
    data::BatchBuffer staged; ///< page-locked
    data::BatchBuffer there;  ///< on the device
  };

  CopyProducer(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream)
      : BatchProducer{options.assembler}, device_{device}, options_{std::move(options)},
        stream_{std::move(stream)} {}
  Result<Slot> make_slot() const;
  const BatchView& view(std::int32_t slot) const override { return at(slot).there.view; }
  EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                   const LoadFailed& failed) override;
  const Slot& at(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }

  gpu::CudaDevice& device_;
  ProducerOptions options_;
  LoaderStream stream_;
  std::vector<Slot> slots_;
};

} // namespace troupe::training
