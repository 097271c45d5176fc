#include "training/platforms/detail/device_producer.hpp"

#include "core/fail.hpp"
#include "gpu/kernels/augment.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::training {

namespace {

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

} // namespace

Result<std::shared_ptr<const ResidentImages>> make_resident(gpu::CudaDevice& device,
                                                            const data::ImageDataset& dataset) {
  const auto extent = dataset.extent();
  if (!extent)
    return fail(Errc::unsupported, "the images of {} differ in size; set data.residency to host",
                dataset.info().name);
  const auto samples = static_cast<std::size_t>(dataset.size());
  std::vector<std::uint8_t> pixels, scratch;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    TROUPE_TRY(const auto image, dataset.read(i, scratch));
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    labels.push_back(dataset.label(i));
  }
  auto resident = std::make_shared<ResidentImages>();
  TROUPE_TRY(resident->pixels, device.allocate(pixels.size(), MemoryKind::data));
  TROUPE_TRY(resident->labels, device.allocate(samples * sizeof(std::int32_t), MemoryKind::data));
  const auto stream = device.create_stream({.name = "resident"});
  device.copy(*stream, resident->pixels->data(), pixels.data(), pixels.size());
  device.copy(*stream, resident->labels->data(), labels.data(), samples * sizeof(std::int32_t));
  TROUPE_TRY(stream->synchronize());
  return resident;
}

Result<std::shared_ptr<BatchProducer>>
DeviceProducer::create(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream,
                       std::shared_ptr<const ResidentImages> resident) {
  TROUPE_TRY(const auto samples, options.assembler->sampler().largest_slice(options.slice));
  const auto count = options.slots;
  std::shared_ptr<DeviceProducer> producer{new DeviceProducer{
      device, std::move(options), std::move(stream), std::move(resident), samples}};
  for (std::int64_t i = 0; i < count; ++i) {
    TROUPE_TRY(auto slot, producer->make_slot());
    producer->slots_.push_back(std::move(slot));
  }
  producer->augment(producer->slots_.front()); // loads the kernel (gpu/detail/load_kernels.hpp)
  // A caller that only measures a job's needs destroys the producer and its memory at once.
  TROUPE_TRY(producer->stream_.stream->synchronize());
  return producer;
}

DeviceProducer::DeviceProducer(gpu::CudaDevice& device, ProducerOptions options,
                               LoaderStream stream, std::shared_ptr<const ResidentImages> resident,
                               std::int64_t samples)
    : BatchProducer{options.assembler}, device_{device}, options_{std::move(options)},
      stream_{std::move(stream)}, resident_{std::move(resident)}, samples_{samples},
      extent_{*images().source()->extent()}, image_bytes_{static_cast<std::size_t>(
                                                 extent_.height * extent_.width *
                                                 images().source()->info().channels)} {
  const auto count = static_cast<std::size_t>(samples);
  layout_.windows = aligned(count * sizeof(std::int64_t));
  layout_.labels = layout_.windows + aligned(count * sizeof(Window));
  layout_.pixels = layout_.labels + (resident_ ? 0 : aligned(count * sizeof(std::int32_t)));
  layout_.bytes = layout_.pixels + (resident_ ? 0 : count * image_bytes_);
}

Result<DeviceProducer::Slot> DeviceProducer::make_slot() const {
  const auto count = static_cast<std::size_t>(samples_);
  const auto size = static_cast<std::size_t>(images().augment().options().image_size);
  const auto image = size * size * static_cast<std::size_t>(options_.format.channels);
  Slot slot;
  TROUPE_TRY(slot.staged, device_.allocate_pinned(layout_.bytes));
  TROUPE_TRY(slot.choices, device_.allocate(layout_.bytes, MemoryKind::data));
  TROUPE_TRY(slot.images,
             device_.allocate(count * image * size_of(options_.format.dtype), MemoryKind::data));
  TROUPE_TRY(slot.labels, device_.allocate(count * sizeof(std::int32_t), MemoryKind::data));
  TROUPE_TRY(auto view, assembler()->tensors(options_.slice));
  slot.view = at_addresses(std::move(view), {slot.images->data(), slot.labels->data()});
  auto& written = slot.view.front(); // in the model's input format
  written.dtype = options_.format.dtype;
  written.shape.dims.back() = options_.format.channels;
  return slot;
}

EventPtr DeviceProducer::enqueue(std::int32_t index, data::Position position,
                                 const data::Slice& slice, const LoadFailed& failed) {
  const auto& slot = at(index);
  auto& stream = *stream_.stream;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(samples_));
  // Records an error on the stream, where later waits report it; the batch is then not augmented.
  gpu::cuda_stream(stream).note(sampler().indices(position, slice, indices));
  choose(slot, position, indices);
  if (!resident_)
    stream.wait(gather(slot, std::move(indices), failed));
  const auto span = stream_.row.span(stream, batch_span);
  device_.copy(stream, slot.choices->data(), slot.staged->data(), layout_.bytes);
  augment(slot);
  report_failure(stream, failed);
  return stream.record();
}

void DeviceProducer::choose(const Slot& slot, data::Position at,
                            std::span<const std::int64_t> indices) const {
  auto* const numbers = reinterpret_cast<std::int64_t*>(slot.staged->data());
  auto* const windows = reinterpret_cast<Window*>(slot.staged->data() + layout_.windows);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    // Gathered images are already in the batch's order.
    const auto place = resident_ ? indices[i] : static_cast<std::int64_t>(i);
    numbers[i] = indices[i] < 0 ? -1 : place;
    windows[i] = images().augment().window(extent_, at.epoch, indices[i]);
  }
}

EventPtr DeviceProducer::gather(const Slot& slot, std::vector<std::int64_t> indices,
                                const LoadFailed& failed) {
  return options_.host.enqueue(
      [assembler = assembler(), indices = std::move(indices),
       labels = reinterpret_cast<std::int32_t*>(slot.staged->data() + layout_.labels),
       pixels = slot.staged->data() + layout_.pixels, bytes = image_bytes_]() -> Status {
        const auto& source = *assembler->adapter().images()->source();
        std::vector<std::uint8_t> scratch;
        for (std::size_t i = 0; i < indices.size(); ++i) {
          if (indices[i] < 0)
            continue;
          TROUPE_TRY(const auto image, source.read(indices[i], scratch));
          std::memcpy(pixels + i * bytes, image.pixels.data(), bytes);
          labels[i] = source.label(indices[i]);
        }
        return {};
      },
      failed);
}

void DeviceProducer::augment(const Slot& slot) {
  const auto& options = images().augment().options();
  const auto* const staged = slot.choices->data();
  const auto* const pixels = resident_ ? resident_->pixels->data() : staged + layout_.pixels;
  const auto* const labels = resident_ ? resident_->labels->data() : staged + layout_.labels;
  gpu::AugmentBatch batch{.pixels = reinterpret_cast<const std::uint8_t*>(pixels),
                          .labels = reinterpret_cast<const std::int32_t*>(labels),
                          .indices = reinterpret_cast<const std::int64_t*>(staged),
                          .windows = reinterpret_cast<const Window*>(staged + layout_.windows),
                          .batch = static_cast<int>(samples_),
                          .source = extent_,
                          .source_channels = images().source()->info().channels,
                          .image_size = options.image_size,
                          .channels = options.channels,
                          .stored_channels = static_cast<int>(options_.format.channels),
                          .dtype = options_.format.dtype,
                          .images = slot.images->data(),
                          .batch_labels = reinterpret_cast<std::int32_t*>(slot.labels->data())};
  for (std::size_t c = 0; c < 3; ++c) {
    batch.scale[c] = options.normalization.scale(c);
    batch.shift[c] = options.normalization.shift(c);
  }
  gpu::cuda_stream(*stream_.stream).enqueue("augment", [&](cudaStream_t raw) {
    gpu::launch_augment(raw, batch);
  });
}

} // namespace troupe::training
