#include "data/resample.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::data {

namespace {

int rounded(double value) {
  return static_cast<int>(std::nearbyint(value)); // halves to even, like Python's round
}

int half_up(double value) {
  return static_cast<int>(std::floor(value + 0.5));
}

/// Returns the largest centred box with an allowed ratio of width to height.
Box central_box(Extent source, double least_ratio, double largest_ratio) {
  const double ratio = double(source.width) / source.height;
  Box box{.height = source.height, .width = source.width};
  if (ratio < least_ratio)
    box.height = rounded(box.width / least_ratio);
  else if (ratio > largest_ratio)
    box.width = rounded(box.height * largest_ratio);
  box.top = (source.height - box.height) / 2;
  box.left = (source.width - box.width) / 2;
  return box;
}

/// Resizes one row of the box along x; `From` channels become `To`.
template <std::size_t From, std::size_t To>
void resample_row(const std::uint8_t* source, const ResampleAxis& across, bool flip, float* row) {
  const auto count = across.places.size();
  for (std::size_t x = 0; x < count; ++x) {
    const auto& place = across.places[flip ? count - 1 - x : x];
    const auto* pixel = source + static_cast<std::size_t>(place.first) * From;
    const auto* weight = across.weights.data() + place.weight;
    float sums[From] = {};
    for (int i = 0; i < place.count; ++i, pixel += From)
      for (std::size_t c = 0; c < From; ++c)
        sums[c] += weight[i] * static_cast<float>(pixel[c]);
    for (std::size_t c = 0; c < To; ++c)
      *row++ = sums[From == 1 ? 0 : c];
  }
}

int longest(const ResampleAxis& axis) {
  return std::ranges::max(axis.places, {}, &ResampleAxis::Place::count).count;
}

} // namespace

Box random_box(CounterRng rng, Extent source) {
  constexpr double least_area = 0.08, least_ratio = 3.0 / 4, largest_ratio = 4.0 / 3;
  const double area = double(source.height) * source.width;
  const double log_least = std::log(least_ratio), log_largest = std::log(largest_ratio);
  for (int tries = 0; tries < 10; ++tries) {
    const double target = area * (least_area + (1 - least_area) * double{rng.uniform()});
    const double ratio = std::exp(log_least + (log_largest - log_least) * double{rng.uniform()});
    const int width = rounded(std::sqrt(target * ratio)),
              height = rounded(std::sqrt(target / ratio));
    if (width < 1 || width > source.width || height < 1 || height > source.height)
      continue;
    const auto place = [&rng](int free) {
      return static_cast<int>(rng.below(static_cast<std::uint32_t>(free) + 1));
    };
    const int top = place(source.height - height), left = place(source.width - width);
    return {top, left, height, width};
  }
  return central_box(source, least_ratio, largest_ratio);
}

void ResampleAxis::assign(int begin, int count, int source, int target) {
  places.clear();
  weights.clear();
  const double scale = double(source) / target;
  const double support = std::max(scale, 1.0); // half-width of the triangle
  for (int place = begin; place < begin + count; ++place) {
    const double centre = scale * (place + 0.5);
    const int first = std::max(half_up(centre - support), 0);
    const int end = std::min(half_up(centre + support), source);
    places.push_back({first, end - first, weights.size()});
    double sum = 0;
    for (int i = first; i < end; ++i)
      sum += std::max(0.0, 1 - std::abs(i + 0.5 - centre) / support);
    for (int i = first; i < end; ++i)
      weights.push_back(
          static_cast<float>(std::max(0.0, 1 - std::abs(i + 0.5 - centre) / support) / sum));
  }
}

void resample(const ImageView& image, const Cut& cut, int size, int channels, float* destination,
              ResampleScratch& scratch) {
  auto& across = scratch.across;
  auto& down = scratch.down;
  auto& rows = scratch.rows;
  auto& held = scratch.held;
  across.assign(cut.window.left, size, cut.box.width, cut.resized.width);
  down.assign(cut.window.top, size, cut.box.height, cut.resized.height);
  const auto row_elements = static_cast<std::size_t>(size) * static_cast<std::size_t>(channels);
  const int kept = longest(down);
  rows.resize(static_cast<std::size_t>(kept) * row_elements);
  held.assign(static_cast<std::size_t>(kept), -1);
  const auto make = image.channels == 3 ? resample_row<3, 3>
                    : channels == 3     ? resample_row<1, 3>
                                        : resample_row<1, 1>;
  // Rows of the box are requested in order. Each is computed once and overwrites one that is no
  // longer used.
  const auto row_of = [&](int y) {
    const auto slot = static_cast<std::size_t>(y % kept);
    auto* const row = rows.data() + slot * row_elements;
    if (std::exchange(held[slot], y) != y) {
      const auto pixel =
          static_cast<std::size_t>(cut.box.top + y) * static_cast<std::size_t>(image.width) +
          static_cast<std::size_t>(cut.box.left);
      make(image.pixels.data() + pixel * static_cast<std::size_t>(image.channels), across,
           cut.window.flip, row);
    }
    return row;
  };
  for (const auto& place : down.places) {
    std::fill_n(destination, row_elements, 0.0f);
    for (int i = 0; i < place.count; ++i) {
      const float weight = down.weights[place.weight + static_cast<std::size_t>(i)];
      const float* const row = row_of(place.first + i);
      for (std::size_t at = 0; at < row_elements; ++at)
        destination[at] += weight * row[at];
    }
    destination += row_elements;
  }
}

} // namespace troupe::data
