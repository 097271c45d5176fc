#include "cpu/host_device.hpp"
#include "training/flat_plan.hpp"
#include "training/state/model_state.hpp"
#include "training/state/state_assembler.hpp"
#include "training/state/state_copier.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;
using training::ModelState;
using training::plan_flat;
using training::UnitRange;

namespace {

/// Stores values in reverse order after one element of padding, as no real device does.
class Reversed : public ParameterCodec {
public:
  void encode(std::span<const float> canonical, std::span<float> stored) const override {
    std::ranges::reverse_copy(canonical, stored.begin() + 1);
  }
  void decode(std::span<const float> stored, std::span<float> canonical) const override {
    std::ranges::reverse_copy(stored.subspan(1), canonical.begin());
  }
  BlockedLayout layout() const override { return {}; } // no blocked layout describes this
};

StorageLayout two_units() {
  StorageLayout layout;
  layout.parameters = {{"a.weight", {2, 2}, 0, 0, 5, std::make_shared<Reversed>()},
                       {"a.bias", {2}, 0, 5, 2, nullptr},
                       {"b.weight", {3}, 1, 0, 3, nullptr}};
  layout.statistics = {{"a.running_mean", {2}, 0, 0, 2, nullptr}};
  layout.unit_elements = {7, 3};
  layout.statistic_elements = 2;
  layout.unit_names = {"a", "b"};
  return layout;
}

struct Values {
  std::vector<float> weight{1, 2, 3, 4}, bias{5, 6}, other{7, 8, 9}, mean{10, 11};
  std::vector<float> momentum{-1, -2, -3, -4}, bias_momentum{-5, -6}, other_momentum{-7, -8, -9};

  /// Returns a checkpoint of views into these values.
  Checkpoint checkpoint(std::int64_t step) const {
    Checkpoint result;
    result.step = step;
    result.tensors = {{"a.weight", {2, 2}, weight},
                      {"a.bias", {2}, bias},
                      {"b.weight", {3}, other},
                      {"a.running_mean", {2}, mean}};
    if (step > 0)
      for (const auto& [name, shape, values] : {CheckpointTensor{"a.weight", {2, 2}, momentum},
                                                CheckpointTensor{"a.bias", {2}, bias_momentum},
                                                CheckpointTensor{"b.weight", {3}, other_momentum}})
        result.tensors.push_back({optimizer_tensor_name("momentum", name), shape, values});
    return result;
  }
};

struct Fixture {
  Fixture() : device{cpu::make_host_device(0, 1)}, stream{device->create_stream({})} {
    auto created = ModelState::create(
        *device, two_units(),
        {.optimizer_slots = {"momentum"}, .accumulate = true, .snapshots = true});
    REQUIRE(created);
    state = *created;
  }
  std::unique_ptr<cpu::HostDevice> device;
  std::unique_ptr<Stream> stream;
  std::shared_ptr<ModelState> state;
};

} // namespace

TEST_CASE_METHOD(Fixture, "values loaded into an f16 state are rounded") {
  const auto half = ModelState::create(*device, two_units(),
                                       {.optimizer_slots = {"momentum"}, .stored = DType::f16});
  REQUIRE(half);
  Values values;
  values.bias = {1 + 0x1p-11f, 1e6f};
  values.mean = {1 + 0x3p-11f, 1e-9f};
  values.bias_momentum = {-2 - 0x3p-10f, 0};
  REQUIRE((*half)->load(*stream, *state_in_memory(values.checkpoint(3))));
  CHECK((*half)->buffers().parameters(0)[5] == 1.0f);
  CHECK((*half)->buffers().parameters(0)[6] == INFINITY);
  CHECK((*half)->statistics().values()[0] == 1 + 0x1p-9f);
  CHECK((*half)->statistics().values()[1] == 0.0f);
  CHECK((*half)->buffers().part().chunks().front().state0[5] == -2 - 0x1p-8f);
}

TEST_CASE_METHOD(Fixture, "parameters are stored in the device's layout, one unit after another") {
  REQUIRE(state->load(*stream, *state_in_memory(Values{}.checkpoint(3))));
  CHECK(state->layout().plan().elements == 10);
  CHECK(state->buffers().parameters(1) == state->buffers().parameters(0) + 7);
  REQUIRE(state->buffers().part().chunks().size() == 1);
  const auto all = state->buffers().part().chunks().front();
  CHECK(all.elements == 10);
  const std::vector<float> stored(all.parameters, all.parameters + 10);
  CHECK(stored == std::vector<float>{0, 4, 3, 2, 1, 5, 6, 7, 8, 9});
  CHECK(all.state0[1] == -4.0f);
  CHECK(all.state1 == nullptr);
  CHECK(state->statistics().values()[1] == 11.0f);
}

TEST_CASE_METHOD(Fixture, "a snapshot returns the loaded state in canonical layout") {
  const Values values;
  const auto loaded = values.checkpoint(3);
  REQUIRE(state->load(*stream, *state_in_memory(loaded)));
  const auto snapshot = state->begin_snapshot(3);
  REQUIRE(snapshot);
  const training::StateCopier copier{*state, *stream};
  copier.take(snapshot->get());
  REQUIRE(stream->synchronize());
  const auto& plan = state->layout().whole();
  training::StateAssembler assembler{plan, plan.size()};
  const auto entries = state->layout().describe({}).tensors;
  REQUIRE(entries.size() == loaded.tensors.size());
  for (std::size_t index = 0; index < plan.size(); ++index) {
    std::vector<float> copied(plan[index].elements);
    copier.copy(plan[index], copied.data());
    REQUIRE(stream->synchronize());
    CHECK(std::equal(copied.begin(), copied.end(), (*snapshot)->values(index)));
    CHECK(assembler.add(index, copied.data()) == (index + 1 == plan.size()));
  }
  const auto whole = assembler.take();
  REQUIRE(whole.tensors.size() == loaded.tensors.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(entries[i].name);
    CHECK(whole.tensors[i].name == entries[i].name);
    const auto* const found = loaded.find(entries[i].name);
    REQUIRE(found);
    CHECK(found->shape == entries[i].shape);
    CHECK(std::ranges::equal(found->values, whole.tensors[i].values));
  }
}

TEST_CASE("saved state is split into chunks of at most one bucket") {
  auto layout = two_units();
  layout.parameters[0].codec = nullptr;
  layout.parameters[0].elements = 4;
  const auto plan = plan_flat(std::vector<UnitRange>{{1, 1}, {0, 0}}, layout.unit_elements, 1);
  const training::StatePlan saved{layout, plan, {"momentum"}, training::StatePart::whole(plan), 3};
  struct Cut {
    std::string name;
    std::size_t array, first, elements;
    bool operator==(const Cut&) const = default;
  };
  std::vector<std::vector<Cut>> cuts;
  for (const auto& chunk : saved) {
    cuts.emplace_back();
    for (const auto& range : chunk.ranges)
      cuts.back().push_back({range.slot->name, range.array, range.first, range.elements});
  }
  // Chunks are ordered by name. a.bias and the first elements of a.weight together would exceed 3;
  // a and b are in two buckets.
  CHECK(cuts == std::vector<std::vector<Cut>>{{{"a.bias", 0, 0, 2}},
                                              {{"a.weight", 0, 0, 3}},
                                              {{"a.weight", 0, 3, 1}},
                                              {{"b.weight", 0, 0, 3}},
                                              {{"a.running_mean", 1, 0, 2}},
                                              {{"a.bias", 2, 0, 2}},
                                              {{"a.weight", 2, 0, 3}},
                                              {{"a.weight", 2, 3, 1}},
                                              {{"b.weight", 2, 0, 3}}});
  CHECK(saved.parameter_chunks() == 4);
  const training::StatePlan large{layout, plan, {"momentum"}, training::StatePart::whole(plan)};
  CHECK(large.size() == 5); // a, b, statistics, a, b
}

TEST_CASE("in the order of buckets, the chunks of a bucket are neighbours") {
  StorageLayout layout;
  for (const auto& [name, unit] : {std::pair{"a", 0}, {"b", 1}, {"c", 0}, {"d", 1}})
    layout.parameters.push_back(
        {name, {2}, unit, *name < 'c' ? std::size_t{0} : std::size_t{2}, 2, nullptr});
  layout.unit_elements = {4, 4};
  const auto plan = plan_flat(std::vector<UnitRange>{{1, 1}, {0, 0}}, layout.unit_elements, 1);
  const training::StatePlan saved{layout, plan, {"momentum"}, training::StatePart::whole(plan)};
  REQUIRE(saved.size() == 8); // a, b, c, d, twice
  CHECK(saved.by_bucket() == std::vector<std::size_t>{1, 3, 0, 2, 5, 7, 4, 6});
}

TEST_CASE_METHOD(Fixture,
                 "a new run has an optimizer state of zero, and a resumed run needs a saved one") {
  const Values values;
  REQUIRE(state->load(*stream, *state_in_memory(values.checkpoint(0))));
  CHECK(state->buffers().part().chunks().front().state0[3] == 0.0f);
  auto broken = values.checkpoint(5);
  broken.tensors.pop_back();
  const auto status = state->load(*stream, *state_in_memory(broken));
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::invalid_input);
  CHECK(status.error().message == "the checkpoint has no tensor optimizer.momentum.b.weight: it "
                                  "belongs to another model or optimizer");
}

TEST_CASE_METHOD(Fixture, "a tensor of another shape is named with both shapes") {
  const Values values;
  auto wrong = values.checkpoint(0);
  wrong.tensors[2].shape = {1, 3};
  const auto status = state->load(*stream, *state_in_memory(wrong));
  REQUIRE_FALSE(status);
  CHECK(status.error().message ==
        "tensor b.weight has the shape 1x3 in the checkpoint, but 3 in the model");
}

TEST_CASE_METHOD(Fixture, "a run with a loss scale continues with the checkpoint's scale") {
  auto created = ModelState::create(
      *device, two_units(),
      {.optimizer_slots = {"momentum"}, .loss_scale = LossScaleOptions{.initial = 128}});
  REQUIRE(created);
  const auto& scaled = **created;
  CHECK(state->loss_scale() == nullptr);

  const Values values;
  auto checkpoint = values.checkpoint(3);
  REQUIRE(
      (*created)->load(*stream, *state_in_memory(checkpoint))); // from a run without a loss scale
  CHECK(*scaled.loss_scale() == LossScaleState{.scale = 128, .taken = 3});
  const LossScaleState other{.scale = 0.3f, .growth_tracker = 17, .skipped = 2, .taken = 1};
  checkpoint.metadata["loss_scale"] = to_string(other);
  REQUIRE((*created)->load(*stream, *state_in_memory(checkpoint)));
  CHECK(*scaled.loss_scale() == other);

  std::optional<LossScaleState> copied;
  scaled.copy_loss_scale(*stream, copied);
  REQUIRE(stream->synchronize());
  CHECK(scaled.layout().describe(copied).metadata.at("loss_scale") == to_string(other));

  checkpoint.metadata["loss_scale"] = "much";
  const auto status = (*created)->load(*stream, *state_in_memory(checkpoint));
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::corrupt);
}

TEST_CASE_METHOD(Fixture, "memory is counted by kind") {
  const auto use = device->memory();
  CHECK(use.current[static_cast<std::size_t>(MemoryKind::parameters)] >= 48);
  CHECK(use.current[static_cast<std::size_t>(MemoryKind::gradients)] >=
        80); // includes the accumulator
  CHECK(use.current[static_cast<std::size_t>(MemoryKind::optimizer)] >= 40);
}
