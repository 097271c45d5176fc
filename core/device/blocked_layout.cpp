#include "core/device/blocked_layout.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace troupe {

namespace {

/// Offsets that each index of each dimension adds to an element's position: dimensions are
/// independent of each other.
class Places {
public:
  Places(const BlockedLayout& layout, const Shape& shape) : shape_{shape} {
    if (shape.elements() == 0)
      return;
    for (std::size_t dimension = 0; dimension < shape.dims.size(); ++dimension) {
      auto& places = by_dimension_.emplace_back();
      for (std::int64_t index = 0; index < shape.dims[dimension]; ++index)
        places.push_back(place(layout, static_cast<std::int64_t>(dimension), index));
    }
  }

  std::size_t last() const {
    std::size_t sum = 0;
    for (const auto& places : by_dimension_)
      sum += places.empty() ? 0 : *std::ranges::max_element(places);
    return sum;
  }

  /// Calls `visit` with the position of each element, in row-major order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (shape_.elements() > 0)
      for_each(0, 0, visit);
  }

private:
  static std::size_t place(const BlockedLayout& layout, std::int64_t dimension,
                           std::int64_t index) {
    std::int64_t sum = 0, contiguous = 1;
    for (auto block = layout.inner.rbegin(); block != layout.inner.rend(); ++block) {
      if (block->dimension == dimension) {
        sum += index % block->size * contiguous;
        index /= block->size;
      }
      contiguous *= block->size;
    }
    return static_cast<std::size_t>(sum +
                                    index * layout.strides[static_cast<std::size_t>(dimension)]);
  }

  template <class Visit>
  void for_each(std::size_t dimension, std::size_t before, const Visit& visit) const {
    if (dimension == by_dimension_.size())
      return visit(before);
    for (const auto place : by_dimension_[dimension])
      for_each(dimension + 1, before + place, visit);
  }

  const Shape& shape_;
  std::vector<std::vector<std::size_t>> by_dimension_;
};

/// Parses numbers with `separator` between them; returns nullopt for anything else.
std::optional<std::vector<std::int64_t>> numbers(std::string_view text, char separator) {
  std::vector<std::int64_t> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc{} || value < 0)
      return std::nullopt;
    all.push_back(value);
    if (parsed.ptr == end)
      return all;
    if (*parsed.ptr != separator)
      return std::nullopt;
    at = parsed.ptr + 1;
  }
}

std::optional<std::vector<BlockedLayout::Block>> blocks(std::string_view text) {
  std::vector<BlockedLayout::Block> all;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto block = numbers(text.substr(0, end), 'x');
    if (!block || block->size() != 2 || (*block)[1] < 1)
      return std::nullopt;
    all.push_back({(*block)[0], (*block)[1]});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

} // namespace

bool BlockedLayout::fits(const Shape& shape, std::size_t stored) const {
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (strides.size() != shape.dims.size() || elements > stored)
    return false;
  if (elements == 0)
    return true;
  // Keeps the products below far from overflow.
  constexpr auto largest = std::int64_t{1} << 40;
  std::int64_t block = 1;
  for (const auto& [dimension, size] : inner) {
    if (dimension >= std::ssize(strides) || size > largest / block)
      return false;
    block *= size;
  }
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (strides[i] > largest / shape.dims[i])
      return false;
  return Places{*this, shape}.last() < stored;
}

void BlockedLayout::encode(const Shape& shape, std::span<const float> canonical,
                           std::span<float> stored) const {
  std::ranges::fill(stored, 0.0F);
  auto value = canonical.begin();
  Places{*this, shape}.for_each([&](std::size_t place) { stored[place] = *value++; });
}

void BlockedLayout::decode(const Shape& shape, std::span<const float> stored,
                           std::span<float> canonical) const {
  auto value = canonical.begin();
  Places{*this, shape}.for_each([&](std::size_t place) { *value++ = stored[place]; });
}

std::string to_string(const BlockedLayout& layout) {
  auto text = fmt::format("{}", fmt::join(layout.strides, ","));
  char separator = ':';
  for (const auto& [dimension, size] : layout.inner) {
    text += fmt::format("{}{}x{}", separator, dimension, size);
    separator = ',';
  }
  return text;
}

Result<BlockedLayout> parse_layout(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto strides = numbers(text.substr(0, colon), ',');
  const auto inner = blocks(text.substr(std::min(colon + 1, text.size())));
  if (!strides || !inner)
    return fail(Errc::corrupt, "\"{}\" is not a layout", text.substr(0, 80));
  return BlockedLayout{*strides, *inner};
}

} // namespace troupe
