// Tests the two-phase commit of a step: when ranks vote, a step for which a rank lacks gradients is
// applied by no rank.
#include "collectives/shared_device/shared_communicator.hpp"
#include "core/fail.hpp"
#include "cpu/host_device.hpp"
#include "cpu/host_stream.hpp"
#include "tests/training/three_units.hpp"
#include "training/reducer/reducer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>

using namespace troupe;
using namespace troupe::training;
using namespace troupe::training::test;

namespace {

/// One of two ranks, with one bucket per unit; SGD with rate 1, all parameters 10, all gradients 1.
class Voter {
public:
  Voter(int rank, std::shared_ptr<collectives::Communicator> group, bool votes, double offloaded) {
    rank_state_->rank = rank;
    rank_state_->compiled =
        std::make_shared<CompiledWorker>(CompiledWorker{.device = cpu::make_host_device(0, 1)});
    rank_state_->compute = rank_state_->device().create_stream({.name = "compute"});
    rank_state_->communication = rank_state_->device().create_stream({.name = "communication"});
    if (offloaded > 0) {
      REQUIRE(add_updater(*rank_state_->compiled, 1));
      add_host_streams(*rank_state_, 1);
    }
    rank_state_->state = ModelState::create(rank_state_->device(), three_units(),
                                            {.optimizer_slots = {"momentum"},
                                             .strategy = {.world_size = 2, .offloaded = offloaded},
                                             .rank = rank,
                                             .buckets = {{2, 2}, {1, 1}, {0, 0}}})
                             .value();
    rank_state_->world = rank_state_->shard_group = rank_state_->replicate_group = std::move(group);
    const std::vector<float> values(unit_elements, 10);
    Checkpoint start;
    for (const auto& slot : three_units().parameters)
      start.tensors.push_back({slot.name, slot.shape, values});
    REQUIRE(rank_state_->state->load(*rank_state_->compute, *state_in_memory(start)));
    reducer_.emplace(GradientReducerSetup{
        .rank_state = rank_state_,
        .slice_assignment = {2, 2},
        .votes = votes,
        .optimizer = [](std::int64_t) { return OptimizerArguments{.lr = 1}; }});
  }

  void finish_bucket(std::size_t index) {
    const auto& bucket = reducer_->plan().buckets[index];
    cpu::host_stream(*rank_state_->communication).enqueue([this, bucket]() -> Status {
      std::fill_n(rank_state_->state->buffers().gradients(bucket), unit_elements, 1.0f);
      return {};
    });
    done_.plan = reducer_->step_plan(0);
    reducer_->finish_bucket(bucket, 0, done_);
  }
  void finish_step() {
    reducer_->finish_step(&found_, done_);
    reducer_->publish_rest(done_);
  }
  Status end() { return reducer_->last_stream().synchronize(); }
  void abort() { rank_state_->abort({Errc::collective, "a rank was lost"}); }
  bool is_trained(UnitId unit, bool yes) const {
    return all_are(rank_state_->state->buffers().parameters(unit), yes ? 9 : 10);
  }
  int votes_sent() const {
    return static_cast<int>(std::ranges::count_if(done_.done, [](const auto& collective) {
      return collective.bytes == sizeof(float); // 2 S (N-1)/N
    }));
  }

private:
  std::shared_ptr<RankState> rank_state_ = std::make_shared<RankState>();
  std::optional<GradientReducer> reducer_;
  StepWork done_;
  StepResults found_;
};

struct Two {
  explicit Two(bool votes, double offloaded = 0)
      : groups{collectives::make_shared_group(2, std::chrono::seconds{30})},
        first{0, std::move(groups[0]), votes, offloaded}, second{1, std::move(groups[1]), votes,
                                                                 offloaded} {}
  std::vector<std::unique_ptr<collectives::Communicator>> groups;
  Voter first, second;
};

} // namespace

TEST_CASE("a step that all ranks have prepared is applied by all") {
  const double offloaded = GENERATE(0.0, 1.0);
  CAPTURE(offloaded);
  Two two{true, offloaded};
  for (auto* rank : {&two.first, &two.second}) {
    for (const std::size_t bucket : {0, 1, 2})
      rank->finish_bucket(bucket);
    rank->finish_step();
  }
  for (auto* rank : {&two.first, &two.second}) {
    REQUIRE(rank->end());
    for (const UnitId unit : {0, 1, 2})
      CHECK(rank->is_trained(unit, true));
    CHECK(rank->votes_sent() == 1);
  }
}

TEST_CASE("with two-phase commit, a step in which a rank is lost is not applied") {
  const bool votes = GENERATE(true, false);
  const double offloaded = GENERATE(0.0, 1.0);
  CAPTURE(votes, offloaded);
  Two two{votes, offloaded};
  for (auto* rank : {&two.first, &two.second})
    rank->finish_bucket(0);
  REQUIRE(two.second.end()); // the first bucket is reduced
  two.first.finish_bucket(1);
  two.second.abort(); // before the other buckets are reduced
  two.first.finish_bucket(2);
  two.first.finish_step();
  CHECK_FALSE(two.first.end());
  for (auto* rank : {&two.first, &two.second}) {
    // Without votes, the first bucket is applied as soon as it is reduced.
    CHECK(rank->is_trained(2, !votes && offloaded == 0));
    CHECK(rank->is_trained(1, false));
    CHECK(rank->is_trained(0, false));
  }
}

TEST_CASE("a rank with all gradients but not all prepare messages applies nothing") {
  const double offloaded = GENERATE(0.0, 1.0);
  CAPTURE(offloaded);
  Two two{true, offloaded};
  for (auto* rank : {&two.first, &two.second})
    for (const std::size_t bucket : {0, 1, 2})
      rank->finish_bucket(bucket);
  REQUIRE(two.second.end());
  two.second.abort(); // before its vote
  two.first.finish_step();
  CHECK_FALSE(two.first.end());
  for (const UnitId unit : {0, 1, 2})
    CHECK(two.first.is_trained(unit, false));
}
