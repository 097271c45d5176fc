#include "batch.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::data {

BatchAssembler::BatchAssembler(DatasetPtr dataset, const DistributedSampler& sampler,
                               const AugmentOptions& augment)
    : dataset_{std::move(dataset)}, sampler_{sampler}, augment_{augment} {}

Result<BatchBuffer> BatchAssembler::allocate(Device& device, const Slice& slice) const {
  const auto samples = sampler_.largest_slice(slice);
  if (!samples)
    return failure(samples.error());
  const auto count = static_cast<std::size_t>(*samples);
  auto images = device.allocate(count * image_elements() * sizeof(float), MemoryKind::data);
  if (!images)
    return failure(std::move(images).error());
  auto labels = device.allocate(count * sizeof(std::int32_t), MemoryKind::data);
  if (!labels)
    return failure(std::move(labels).error());
  return BatchBuffer{std::move(*images), std::move(*labels), *samples};
}

Status BatchAssembler::fill(Position at, const Slice& slice, std::span<float> images,
                            std::span<std::int32_t> labels) const {
  std::vector<std::int64_t> indices(labels.size());
  TROUPE_TRY(sampler_.indices(at, slice, indices));
  if (images.size() < labels.size() * image_elements())
    return fail(Errc::internal, "room for {} floats, but {} images need {}", images.size(),
                labels.size(), labels.size() * image_elements());
  AugmentScratch scratch;
  std::vector<std::uint8_t> pixels;
  auto* destination = images.data();
  for (std::size_t i = 0; i < indices.size(); ++i, destination += image_elements()) {
    const auto index = indices[i];
    if (index < 0) {
      std::fill_n(destination, image_elements(), 0.0f);
      labels[i] = -1;
      continue;
    }
    const auto image = dataset_->read(index, pixels);
    if (!image)
      return failure(image.error());
    const auto window = augment_.window({image->height, image->width}, at.epoch, index);
    augment_.apply(*image, window, destination, scratch);
    labels[i] = dataset_->label(index);
  }
  return {};
}

namespace {

Result<BatchAssembler> assemble(const Config& config, Split split, int world_size) {
  auto dataset = open_dataset(config.data, config.model, split);
  if (!dataset)
    return failure(std::move(dataset).error());
  const auto augment =
      augment_options(config.data, config.model, (*dataset)->info(), split, config.run.seed);
  if (!augment)
    return failure(augment.error());
  const auto size = (*dataset)->size();
  const auto options =
      split == Split::test
          ? evaluation_sampler(size, config.data.eval_batch_size, world_size)
          : SamplerOptions{.size = size,
                           .global_batch = config.data.batch_size,
                           .seed = config.run.seed,
                           .shuffle = config.data.shuffle,
                           .last_batch =
                               config.data.drop_last ? LastBatch::drop : LastBatch::pad_with_first};
  const auto sampler = DistributedSampler::create(options);
  if (!sampler)
    return failure(sampler.error());
  return BatchAssembler{std::move(*dataset), *sampler, *augment};
}

} // namespace

Result<BatchAssembler> training_batches(const Config& config) {
  return assemble(config, Split::train, 1);
}

Result<BatchAssembler> evaluation_batches(const Config& config, int world_size) {
  return assemble(config, Split::test, world_size);
}

Result<BatchAssembler> dealt(const BatchAssembler& evaluation, std::int64_t batch, int world_size) {
  const auto sampler = DistributedSampler::create(
      evaluation_sampler(evaluation.dataset().size(), batch, world_size));
  if (!sampler)
    return failure(sampler.error());
  return evaluation.with(*sampler);
}

} // namespace troupe::data
