#include "data/image_dataset.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/name_list.hpp"
#include "data/formats.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace troupe::data {

namespace {

/// Returns the positions of `count` samples in ascending order. Classes take turns, each with its
/// next sample, until `count` samples are selected or none remain.
std::vector<std::int64_t> spread_over_classes(std::span<const std::int32_t> labels,
                                              std::int64_t count) {
  std::map<std::int32_t, std::int64_t> seen;
  std::vector<std::int64_t> turns; // by sample: number of earlier samples of its class
  for (const auto label : labels)
    turns.push_back(seen[label]++);
  std::vector<std::int64_t> places(labels.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, {},
                           [&](auto place) { return turns[static_cast<std::size_t>(place)]; });
  places.resize(
      std::min(places.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  std::ranges::sort(places);
  return places;
}

/// Returns Errc::data unless the model's classes and channels match the set's. Grey images fit a
/// model of 3 channels: they are replicated.
Status check_fits_model(const ImageDataset& dataset, const ModelConfig& model) {
  const auto& info = dataset.info();
  if (dataset.num_classes() != model.num_classes)
    return fail(Errc::data,
                "the data set {} ({}) has {} classes ({}), but model.num_classes is {}: set "
                "model.num_classes: {}",
                info.name, info.source, dataset.num_classes(), quoted_list(info.class_names),
                model.num_classes, dataset.num_classes());
  if (info.channels != model.in_channels && !(info.channels == 1 && model.in_channels == 3))
    return fail(Errc::data,
                "the images of {} ({}) have {} channels, but model.in_channels is {}: set "
                "model.in_channels: {}",
                info.name, info.source, info.channels, model.in_channels, info.channels);
  return {};
}

/// Opens the synthetic set with the model's classes and channels. Evaluation has a fourth as many
/// samples.
Result<std::shared_ptr<ImageDataset>> open_synthetic_for(const DataConfig& data,
                                                         const ModelConfig& model, Split split) {
  const auto samples = data.synthetic_samples();
  return open_synthetic(
      {.samples = split == Split::train ? samples : std::max<std::int64_t>(samples / 4, 1),
       .classes = model.num_classes,
       .image_size = static_cast<int>(data.image_size),
       .channels = static_cast<int>(model.in_channels)},
      split);
}

Result<std::shared_ptr<ImageDataset>> open_by_name(const DataConfig& data, const ModelConfig& model,
                                                   Split split) {
  if (data.dataset == "cifar10")
    return open_cifar10(data.root, split);
  if (data.dataset == "mnist")
    return open_idx(data.root, split, IdxFlavour::mnist);
  if (data.dataset == "fashion_mnist")
    return open_idx(data.root, split, IdxFlavour::fashion_mnist);
  if (data.dataset == "image_folder")
    return open_image_folder(data.root, split, model.in_channels == 1 ? 1 : 3);
  if (data.dataset == "synthetic")
    return open_synthetic_for(data, model, split);
  return fail(
      Errc::invalid_input,
      "data.dataset is {}: images are cifar10, mnist, fashion_mnist, image_folder or synthetic",
      data.dataset);
}

} // namespace

void ImageDataset::keep_spread(std::int64_t count) {
  const auto samples = spread_over_classes(labels_, count);
  keep(samples);
  keep_only(labels_, samples);
}

void ImageDataset::add_content(Sha256& sha) const {
  sha.update(std::as_bytes(std::span{labels_}));
  add_pixels(sha);
}

Result<ImageDatasetPtr> open_images(const DataConfig& data, const ModelConfig& model, Split split) {
  TROUPE_TRY(auto dataset, open_by_name(data, model, split));
  return fit_images(std::move(dataset), data, model, split);
}

Result<ImageDatasetPtr> fit_images(std::shared_ptr<ImageDataset> dataset, const DataConfig& data,
                                   const ModelConfig& model, Split split) {
  TROUPE_TRY(check_fits_model(*dataset, model));
  if (data.limit && split == Split::train)
    dataset->keep_spread(*data.limit);
  return ImageDatasetPtr{std::move(dataset)};
}

} // namespace troupe::data
