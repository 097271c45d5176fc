// Tests a state whose tensors are sharded over several places.
#include "core/checkpoint/state_in_parts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <numeric>

using namespace troupe;
using Catch::Matchers::ContainsSubstring;

namespace {

class Values final : public PartValues {
public:
  explicit Values(std::vector<float> values) : values_{std::move(values)} {}
  Status read(std::size_t first, std::span<float> into) const override {
    std::ranges::copy(std::span{values_}.subspan(first, into.size()), into.begin());
    return {};
  }

private:
  std::vector<float> values_;
};

/// Returns elements [first, end) of a tensor whose stored elements are 0, 1, 2, ...
PartOfState part(const std::string& name, const Shape& shape, std::size_t stored, std::size_t first,
                 std::size_t end, const std::optional<BlockedLayout>& layout = {}) {
  std::vector<float> values(end - first);
  std::iota(values.begin(), values.end(), static_cast<float>(first));
  return {{.name = name,
           .shape = shape,
           .stored = stored,
           .first = first,
           .elements = end - first,
           .layout = layout},
          std::make_shared<Values>(std::move(values))};
}

/// 3 rows of 4, each row padded to 6.
const BlockedLayout padded{.strides = {6, 1}, .inner = {}};

std::vector<float> read(const StateSource& state, const std::string& name, std::size_t first,
                        std::size_t elements) {
  std::vector<float> values(elements);
  REQUIRE(state.read(*state.find(name), first, values));
  return values;
}

std::string refusal(std::vector<PartOfState> parts) {
  const auto state = state_in_parts({}, std::move(parts));
  REQUIRE_FALSE(state);
  CHECK(state.error().code == Errc::corrupt);
  return state.error().message;
}

} // namespace

TEST_CASE("tensors are read across shards in any order") {
  const auto state =
      state_in_parts({.step = 7}, {part("b", {10}, 10, 6, 10), part("a", {5}, 5, 0, 5),
                                   part("b", {10}, 10, 0, 2), part("b", {10}, 10, 2, 6)})
          .value();
  CHECK(state->header().step == 7);
  REQUIRE(state->header().tensors.size() == 2);
  CHECK(read(*state, "a", 1, 3) == std::vector<float>{1, 2, 3});
  CHECK(read(*state, "b", 0, 10) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(read(*state, "b", 5, 3) == std::vector<float>{5, 6, 7});
}

TEST_CASE("shards in a device's layout are read as they are or row by row") {
  const auto state = state_in_parts({}, {part("w", {3, 4}, 18, 0, 7, padded),
                                         part("w", {3, 4}, 18, 7, 18, padded)})
                         .value();
  CHECK(read(*state, "w", 3, 3) == std::vector<float>{3, 6, 7});
  std::vector<float> stored(6);
  CHECK(state->read_stored(0, padded, 4, stored).value());
  CHECK(stored == std::vector<float>{4, 5, 6, 7, 8, 9});
  CHECK_FALSE(state->read_stored(0, {.strides = {4, 1}, .inner = {}}, 4, stored).value());
}

TEST_CASE("shards that do not add up to a tensor are refused by its name") {
  CHECK_THAT(refusal({part("w", {9}, 9, 0, 4), part("w", {9}, 9, 5, 9)}),
             ContainsSubstring("the parts of tensor 'w' leave a gap at element 4 of 9"));
  CHECK_THAT(refusal({part("w", {9}, 9, 0, 4), part("w", {9}, 9, 3, 9)}),
             ContainsSubstring("overlap at element 3 of 9"));
  CHECK_THAT(refusal({part("w", {9}, 9, 0, 4)}), ContainsSubstring("end at element 4 of 9"));
  CHECK_THAT(refusal({part("w", {9}, 9, 0, 4), part("w", {8}, 8, 4, 8)}),
             ContainsSubstring("are not of one tensor"));
  CHECK_THAT(refusal({part("w", {3, 4}, 12, 0, 12, padded)}), ContainsSubstring("'w'"));
}
