#include "data/augment.hpp"

#include "core/config/augmentation.hpp"
#include "core/config/config.hpp"
#include "data/keys.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace troupe::data {

namespace {

/// Returns the window of CenterCrop. nearbyint rounds halves to even, like Python's round.
Window centre(Extent resized, int image_size) {
  return {.top = static_cast<int>(std::nearbyint((resized.height - image_size) / 2.0)),
          .left = static_cast<int>(std::nearbyint((resized.width - image_size) / 2.0))};
}

/// The window's columns [begin, end) that lie inside an image of `width` columns, before a flip.
struct Columns {
  int begin = 0, end = 0;
};

Columns columns_inside(const Window& window, int width, int image_size) {
  const int begin = std::clamp(-window.left, 0, image_size);
  return {begin, std::clamp(width - window.left, begin, image_size)};
}

template <std::size_t Channels>
void reverse_pixels(std::uint8_t* row, std::size_t pixels) {
  if (pixels == 0)
    return;
  for (std::size_t left = 0, right = pixels - 1; left < right; ++left, --right)
    for (std::size_t c = 0; c < Channels; ++c)
      std::swap(row[left * Channels + c], row[right * Channels + c]);
}

/// Replicates grey pixels to three equal channels.
void replicate_grey(const std::uint8_t* grey, std::size_t pixels, std::uint8_t* colour) {
  for (std::size_t x = 0; x < pixels; ++x)
    for (std::size_t c = 0; c < 3; ++c)
      colour[3 * x + c] = grey[x];
}

void normalize_row(const std::uint8_t* row, const std::vector<float>& scale,
                   const std::vector<float>& shift, float* destination) {
  for (std::size_t i = 0; i < scale.size(); ++i)
    destination[i] = normalize(static_cast<float>(row[i]), scale[i], shift[i]);
}

void make_axis(std::vector<ResizeTap>& axis, int source, int target) {
  axis.resize(static_cast<std::size_t>(target));
  const float ratio = static_cast<float>(source) / static_cast<float>(target);
  for (int place = 0; place < target; ++place)
    axis[static_cast<std::size_t>(place)] = resize_tap(place, ratio, source);
}

/// Resizes one source row along x to the window's columns, in output order and channels.
template <std::size_t From, std::size_t To>
void resize_row(const std::uint8_t* source, const std::vector<ResizeTap>& columns, float* row) {
  for (const auto& tap : columns) {
    const auto* first = source + static_cast<std::size_t>(tap.first) * From;
    const auto* second = source + static_cast<std::size_t>(tap.second) * From;
    for (std::size_t c = 0; c < To; ++c)
      row[c] = blend(first[From == 1 ? 0 : c], second[From == 1 ? 0 : c], tap.weight);
    row += To;
  }
}

/// Caches the two source rows in use, resized along x, because consecutive output rows share them.
class RowCache {
public:
  RowCache(std::vector<float>& memory, std::size_t row_elements) {
    memory.assign(2 * row_elements, 0.0f);
    rows_ = {memory.data(), memory.data() + row_elements};
  }
  /// Returns row `wanted`, computed by `make(float*)` unless it is cached. Row `kept` is not
  /// evicted.
  template <class Make>
  const float* get(int wanted, int kept, Make make) {
    if (held_[0] == wanted || held_[1] == wanted)
      return rows_[held_[0] == wanted ? 0 : 1];
    const std::size_t slot = held_[0] == kept ? 1 : 0;
    make(rows_[slot]);
    held_[slot] = wanted;
    return rows_[slot];
  }

private:
  std::array<float*, 2> rows_ = {};
  std::array<int, 2> held_ = {-1, -1};
};

} // namespace

AugmentOptions augment_options(const DataConfig& data, const ModelConfig& model,
                               const ImageInfo& info, Split split, std::uint64_t seed) {
  AugmentOptions options{.image_size = static_cast<int>(data.image_size),
                         .channels = static_cast<int>(model.in_channels),
                         .resize = static_cast<int>(data.image_size),
                         .host_only = is_resampled(data),
                         .seed = seed,
                         .normalization = data.normalize.mean.empty() ? info.normalization
                                                                      : normalization_of(data)};
  if (split == Split::train) {
    options.crop = has_augmentation(data, Augmentation::crop);
    options.resized_crop = has_augmentation(data, Augmentation::resized_crop);
    options.flip = has_augmentation(data, Augmentation::flip);
    options.resampled = options.resized_crop;
  } else {
    options.resampled = is_resampled(data);
    options.resize = static_cast<int>(eval_resize(data));
  }
  return options;
}

Augment::Augment(const AugmentOptions& options) : options_{options} {
  for (int x = 0; x < options.image_size; ++x)
    for (std::size_t c = 0; c < static_cast<std::size_t>(options.channels); ++c) {
      scale_.push_back(options.normalization.scale(c));
      shift_.push_back(options.normalization.shift(c));
    }
}

void Augment::make(const ImageView& image, std::int64_t epoch, std::int64_t sample,
                   float* destination, AugmentScratch& scratch) const {
  const Extent source{image.height, image.width};
  if (options_.resampled)
    apply(image, cut(source, epoch, sample), destination, scratch);
  else
    apply(image, window(source, epoch, sample), destination, scratch);
}

Window Augment::window(Extent source, std::int64_t epoch, std::int64_t sample) const {
  const auto resized = resized_extent(source, options_.image_size);
  Window window;
  if (options_.crop || options_.flip) {
    const auto key = epoch_key(options_.seed, Draw::augment, epoch);
    window = random_window(key, sample, resized, options_.image_size, options_.padding());
    window.flip = window.flip && options_.flip;
  }
  if (!options_.crop) {
    const auto place = centre(resized, options_.image_size);
    window.top = place.top;
    window.left = place.left;
  }
  return window;
}

Cut Augment::cut(Extent source, std::int64_t epoch, std::int64_t sample) const {
  const int size = options_.image_size;
  if (!options_.resized_crop) {
    const auto resized = resized_extent(source, options_.resize);
    return {{0, 0, source.height, source.width}, resized, centre(resized, size)};
  }
  const CounterRng rng{epoch_key(options_.seed, Draw::resized_crop, epoch),
                       static_cast<std::uint64_t>(sample)};
  Cut cut{random_box(rng, source), {size, size}, {}};
  cut.window.flip = window(source, epoch, sample).flip; // the same flip as without resized_crop
  return cut;
}

void Augment::apply(const ImageView& image, const Cut& cut, float* destination,
                    AugmentScratch& scratch) const {
  resample(image, cut, options_.image_size, options_.channels, destination, scratch.resample);
  for (int y = 0; y < options_.image_size; ++y, destination += scale_.size())
    for (std::size_t i = 0; i < scale_.size(); ++i)
      destination[i] = normalize(destination[i], scale_[i], shift_[i]);
}

void Augment::apply(const ImageView& image, const Window& window, float* destination,
                    AugmentScratch& scratch) const {
  const Extent source{image.height, image.width};
  const auto resized = resized_extent(source, options_.image_size);
  if (resized == source)
    copy_rows(image, window, destination, scratch);
  else
    resize_rows(image, window, resized, destination, scratch);
}

void Augment::copy_rows(const ImageView& image, const Window& window, float* destination,
                        AugmentScratch& scratch) const {
  const auto size = static_cast<std::size_t>(options_.image_size);
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto inside = columns_inside(window, image.width, options_.image_size);
  const bool replicated = image.channels != options_.channels;
  scratch.bytes.resize(size * channels + size * 3); // a row, and its replicated grey pixels
  auto* row = scratch.bytes.data();
  auto* colour = row + size * channels;
  for (int y = window.top; y < window.top + options_.image_size;
       ++y, destination += scale_.size()) {
    if (y < 0 || y >= image.height) {
      std::copy(shift_.begin(), shift_.end(), destination); // zero pixels
      continue;
    }
    const auto start = static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                       static_cast<std::size_t>(window.left + inside.begin);
    std::memset(row, 0, size * channels);
    std::memcpy(row + static_cast<std::size_t>(inside.begin) * channels,
                image.pixels.data() + start * channels,
                static_cast<std::size_t>(inside.end - inside.begin) * channels);
    if (window.flip)
      channels == 3 ? reverse_pixels<3>(row, size) : reverse_pixels<1>(row, size);
    if (replicated)
      replicate_grey(row, size, colour);
    normalize_row(replicated ? colour : row, scale_, shift_, destination);
  }
}

void Augment::resize_rows(const ImageView& image, const Window& window, Extent resized,
                          float* destination, AugmentScratch& scratch) const {
  const Extent source{image.height, image.width};
  if (scratch.axis_source != source || scratch.axis_target != resized) {
    make_axis(scratch.row_axis, source.height, resized.height);
    make_axis(scratch.column_axis, source.width, resized.width);
    scratch.axis_source = source;
    scratch.axis_target = resized;
  }
  const int size = options_.image_size;
  const auto channels = static_cast<std::size_t>(options_.channels);
  const auto inside = columns_inside(window, resized.width, size);
  const auto* first_tap = scratch.column_axis.data() + window.left + inside.begin;
  scratch.columns.assign(first_tap, first_tap + (inside.end - inside.begin));
  if (window.flip)
    std::reverse(scratch.columns.begin(), scratch.columns.end());
  const auto offset =
      static_cast<std::size_t>(window.flip ? size - inside.end : inside.begin) * channels;

  RowCache cache{scratch.rows, scale_.size()};
  const auto resize = image.channels == 3      ? resize_row<3, 3>
                      : options_.channels == 3 ? resize_row<1, 3>
                                               : resize_row<1, 1>;
  const auto row_of = [&](int y, int kept) {
    return cache.get(y, kept, [&](float* row) {
      resize(image.pixels.data() + static_cast<std::size_t>(y) *
                                       static_cast<std::size_t>(image.width) *
                                       static_cast<std::size_t>(image.channels),
             scratch.columns, row + offset);
    });
  };
  for (int y = 0; y < size; ++y, destination += scale_.size()) {
    const int resized_y = window.top + y;
    if (resized_y < 0 || resized_y >= resized.height) {
      std::copy(shift_.begin(), shift_.end(), destination); // zero pixels
      continue;
    }
    const auto& tap = scratch.row_axis[static_cast<std::size_t>(resized_y)];
    const float* first = row_of(tap.first, tap.second);
    const float* second = row_of(tap.second, tap.first);
    for (std::size_t i = 0; i < scale_.size(); ++i)
      destination[i] = normalize(blend(first[i], second[i], tap.weight), scale_[i], shift_[i]);
  }
}

} // namespace troupe::data
