#include "training/state/rate_ranges.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace troupe;
using namespace troupe::training;

namespace {

/// Unit 0 has a and b of 4 and 2 elements, padded to 8; unit 1 has c of 4.
StorageLayout layout() {
  StorageLayout layout;
  layout.parameters = {
      {"a", {4}, 0, 0, 4, nullptr}, {"b", {2}, 0, 4, 2, nullptr}, {"c", {4}, 1, 0, 4, nullptr}};
  layout.unit_elements = {8, 4};
  layout.unit_names = {"first", "second"};
  return layout;
}

RateRanges ranges(const std::vector<nn::ParameterRate>& factors) {
  const std::array<UnitRange, 1> all{{{0, 1}}};
  return {layout(), plan_flat(all, layout().unit_elements, 1), factors};
}

struct Memory {
  std::array<float, 12> parameters{}, gradients{}, state{};
  std::array<std::byte, 24> copies{};
  OptimizerViews views() {
    return {.parameters = parameters.data(),
            .gradients = gradients.data(),
            .state0 = state.data(),
            .elements = 12,
            .copies = copies.data(),
            .copied = DType::bf16};
  }
};

} // namespace

TEST_CASE("without factors, views are not split") {
  Memory memory;
  for (const auto& factors :
       {std::vector<nn::ParameterRate>{}, std::vector<nn::ParameterRate>{1, 1, 1}}) {
    const auto chunks = ranges(factors).cut(memory.views(), 0);
    REQUIRE(chunks.size() == 1);
    CHECK(chunks[0].elements == 12);
    CHECK(chunks[0].rate == 1);
    CHECK_FALSE(ranges(factors).is_frozen(0, 12));
  }
}

TEST_CASE("views are split where the factor changes, from the last part to the first") {
  Memory memory;
  const auto chunks = ranges({1, 10, 10}).cut(memory.views(), 0);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].parameters == memory.parameters.data() + 4);
  CHECK(chunks[0].gradients == memory.gradients.data() + 4);
  CHECK(chunks[0].state0 == memory.state.data() + 4);
  CHECK(chunks[0].state1 == nullptr);
  CHECK(chunks[0].copies == memory.copies.data() + 8);
  CHECK(chunks[0].elements == 8);
  CHECK(chunks[0].rate == 10);
  CHECK(chunks[1].elements == 4);
  CHECK(chunks[1].rate == 1);
}

TEST_CASE("frozen parts are omitted with their padding") {
  Memory memory;
  const auto frozen_first = ranges({0, 0, 1});
  const auto chunks = frozen_first.cut(memory.views(), 0);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].parameters == memory.parameters.data() + 8);
  CHECK(chunks[0].elements == 4);
  CHECK(frozen_first.is_frozen(0, 8));
  CHECK_FALSE(frozen_first.is_frozen(0, 9));
}

TEST_CASE("a shard is split by its offset in the flat space") {
  Memory memory;
  auto shard = memory.views();
  shard.elements = 6; // elements 6 to 11 of the flat space
  const auto chunks = ranges({1, 0, 2}).cut(shard, 6);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].parameters == memory.parameters.data() + 2);
  CHECK(chunks[0].elements == 4);
  CHECK(chunks[0].rate == 2);
}

TEST_CASE("a factor multiplies only the learning rate") {
  const OptimizerArguments plain{.lr = 0.25f, .momentum = 0.5f, .weight_decay = 0.125f};
  const auto scaled = at_rate(plain, 10);
  CHECK(scaled.lr == 2.5f);
  CHECK(scaled.momentum == plain.momentum);
  CHECK(scaled.weight_decay == plain.weight_decay);
}

TEST_CASE("views are split where weight decay ends") {
  Memory memory;
  const auto chunks = ranges({1, {1, false}, {1, false}}).cut(memory.views(), 0);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].elements == 8);
  CHECK_FALSE(chunks[0].rate.decays);
  CHECK(chunks[1].rate.decays);
  const OptimizerArguments plain{.lr = 0.25f, .weight_decay = 0.125f};
  CHECK(at_rate(plain, chunks[0].rate).weight_decay == 0);
  CHECK(at_rate(plain, chunks[0].rate).lr == plain.lr);
  CHECK(at_rate(plain, chunks[1].rate).weight_decay == plain.weight_decay);
}
