/// Makes micro-batches on a CUDA device: the host sends pixels and random choices, and one kernel
/// turns them into the model's input.
#pragma once

#include "data/image_adapter.hpp"
#include "gpu/cuda_device.hpp"
#include "training/platforms/platform.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::training {

/// A data set in device memory, shared by the producers of a device.
struct ResidentImages {
  BufferPtr pixels; ///< u8 (samples, height, width, channels)
  BufferPtr labels; ///< i32 (samples)
};

/// Copies a data set of images of one size to the device. Blocks: for set-up. Errors:
/// out_of_memory; those of ImageDataset::read.
Result<std::shared_ptr<const ResidentImages>> make_resident(gpu::CudaDevice& device,
                                                            const data::ImageDataset& dataset);

/// With a resident data set, a batch takes about a kilobyte of sample numbers and windows from the
/// host. Without one, a host stream first gathers the samples' pixels in page-locked memory.
class DeviceProducer final : public BatchProducer {
public:
  /// `stream`: of the device. `resident`: null: gathered on the host. Precondition: the assembler
  /// is one of images. Errors: out_of_memory; those of the sampler. The device must outlive the
  /// producer.
  static Result<std::shared_ptr<BatchProducer>>
  create(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream,
         std::shared_ptr<const ResidentImages> resident);

  std::int32_t slots() const override { return static_cast<std::int32_t>(slots_.size()); }

private:
  /// Memory of one micro-batch. `staged` and `choices` have the same layout: sample numbers,
  /// windows, then (if gathered) labels and pixels.
  struct Slot {
    BufferPtr staged;  ///< page-locked
    BufferPtr choices; ///< on the device
    BufferPtr images, labels;
    BatchView view;
  };
  /// Offsets in staged memory, in bytes.
  struct StagedLayout {
    std::size_t windows = 0, labels = 0, pixels = 0, bytes = 0;
  };

  DeviceProducer(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream,
                 std::shared_ptr<const ResidentImages> resident, std::int64_t samples);
  Result<Slot> make_slot() const;
  const BatchView& view(std::int32_t slot) const override { return at(slot).view; }
  EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                   const LoadFailed& failed) override;
  const Slot& at(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  void choose(const Slot& slot, data::Position at, std::span<const std::int64_t> indices) const;
  const data::ImageAdapter& images() const { return *assembler()->adapter().images(); }
  EventPtr gather(const Slot& slot, std::vector<std::int64_t> indices, const LoadFailed& failed);
  void augment(const Slot& slot);

  gpu::CudaDevice& device_;
  ProducerOptions options_;
  LoaderStream stream_;
  std::shared_ptr<const ResidentImages> resident_;
  std::int64_t samples_;
  Extent extent_;
  std::size_t image_bytes_;
  StagedLayout layout_;
  std::vector<Slot> slots_;
};

} // namespace troupe::training
