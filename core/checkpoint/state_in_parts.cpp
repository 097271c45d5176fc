#include "core/checkpoint/state_in_parts.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace troupe {

namespace {

/// All parts of a tensor, in order.
using PartsInOrder = std::vector<PartOfState>;

std::size_t first_of(const PartOfState& part) {
  return part.what.first;
}

Status check_whole(const PartsInOrder& parts) {
  const auto& one = parts.front().what;
  std::size_t end = 0;
  for (const auto& [what, values] : parts) {
    if (what.shape != one.shape || what.stored != one.stored || what.layout != one.layout)
      return fail(Errc::corrupt, "the parts of tensor '{}' are not of one tensor",
                  echoed(one.name));
    if (what.first != end)
      return fail(Errc::corrupt, "the parts of tensor '{}' {} at element {} of {}",
                  echoed(one.name), what.first < end ? "overlap" : "leave a gap",
                  std::min(what.first, end), one.stored);
    end += what.elements;
  }
  if (end != one.stored || (one.layout && !one.layout->fits(one.shape, one.stored)))
    return fail(Errc::corrupt, "the parts of tensor '{}' end at element {} of {}", echoed(one.name),
                end, one.stored);
  return {};
}

class StateInParts final : public StateSource {
public:
  StateInParts(CheckpointHeader header, std::vector<PartsInOrder> tensors)
      : StateSource{std::move(header)}, tensors_{std::move(tensors)} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    const auto& parts = tensors_[tensor];
    const auto& what = parts.front().what;
    if (!what.layout)
      return read(parts, first, into);
    std::vector<float> stored(what.stored);
    TROUPE_TRY(read(parts, 0, stored));
    std::vector<float> canonical(static_cast<std::size_t>(what.shape.elements()));
    what.layout->decode(what.shape, stored, canonical);
    std::ranges::copy(std::span{canonical}.subspan(first, into.size()), into.begin());
    return {};
  }

  Result<bool> read_stored(std::size_t tensor, const BlockedLayout& layout, std::size_t first,
                           std::span<float> into) const override {
    const auto& parts = tensors_[tensor];
    if (parts.front().what.layout != layout)
      return false;
    TROUPE_TRY(read(parts, first, into));
    return true;
  }

private:
  static Status read(const PartsInOrder& parts, std::size_t first, std::span<float> into) {
    // The last part that begins at or before `first`.
    auto part = std::prev(std::ranges::upper_bound(parts, first, {}, first_of));
    while (!into.empty()) {
      const auto inside = first - part->what.first;
      const auto count = std::min(into.size(), part->what.elements - inside);
      TROUPE_TRY(part->values->read(inside, into.first(count)));
      into = into.subspan(count);
      first += count;
      ++part;
    }
    return {};
  }

  std::vector<PartsInOrder> tensors_; ///< in the header's order
};

} // namespace

Result<StateSourcePtr> state_in_parts(CheckpointHeader header, std::vector<PartOfState> parts) {
  std::map<std::string, PartsInOrder> by_name;
  for (auto& part : parts)
    if (part.what.elements > 0)
      by_name[part.what.name].push_back(std::move(part));
  std::vector<PartsInOrder> tensors;
  header.tensors.clear();
  for (auto& [name, of_tensor] : by_name) {
    std::ranges::sort(of_tensor, {}, first_of);
    TROUPE_TRY(check_whole(of_tensor));
    header.tensors.push_back({name, of_tensor.front().what.shape});
    tensors.push_back(std::move(of_tensor));
  }
  return std::make_shared<const StateInParts>(std::move(header), std::move(tensors));
}

} // namespace troupe
