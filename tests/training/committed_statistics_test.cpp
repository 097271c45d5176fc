// Tests the two-phase commit of statistics: each rank has the statistics of slice 0 after the last
// step for which all ranks have voted, and a job resumes with those; tests/gpu compiles it for
// CUDA.
#include "core/config/config.hpp"
#include "tests/support/single_node_job.hpp"
#include "tests/support/tested_device.hpp"
#include "tests/support/voting_assignment.hpp"
#include "training/generation.hpp"
#include "training/reducer/reducer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::training;

namespace {

Config committers_job() {
  Config config;
  config.model.name = "resnet20";
  config.model.width = 4;
  config.data.dataset = "synthetic";
  config.data.limit = 32;
  config.data.image_size = 8;
  config.data.batch_size = 8;
  config.devices.kind = testing::tested_kind;
  config.devices.count = 2;
  config.devices.threads_per_worker = 1;
  config.parallel.strategy = StrategyKind::ddp;
  config.train.evaluate_every = 0;
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  config.run.output = "no-such-folder";
  return config;
}

/// Returns the initial statistics of a run.
const float* loaded(const Slot& slot) {
  static const std::vector<float> zeros(1024, 0), ones(1024, 1);
  return (slot.name.ends_with("running_var") ? ones : zeros).data();
}

constexpr std::int64_t most_steps = 12;

/// One of two ranks, whose forward passes set all statistics of a step to one number.
class Committer {
public:
  explicit Committer(std::shared_ptr<RankState> rank_state)
      : rank_state_{std::move(rank_state)}, reducer_{{.rank_state = rank_state_,
                                                      .slice_assignment = {2, 2},
                                                      .votes = true,
                                                      .optimizer = [](auto) {
                                                        return OptimizerArguments{.lr = 1};
                                                      }}} {
    std::vector<float> values;
    for (std::int64_t step = 0; step < most_steps; ++step)
      values.insert(values.end(), elements(), made(rank_state_->rank, step));
    made_ = rank_state_->device()
                .allocate(values.size() * sizeof(float), MemoryKind::workspace)
                .value();
    rank_state_->device().copy(stream(), made_->data(), values.data(), made_->bytes());
    REQUIRE(end());
  }

  static float made(int rank, std::int64_t step) { return static_cast<float>(100 * rank + step); }

  void forward(std::int64_t step) {
    rank_state_->device().copy(stream(), state().statistics().values(),
                               made_->floats() + static_cast<std::size_t>(step) * elements(),
                               elements() * sizeof(float));
  }
  void finish_step(std::int64_t step) {
    done_.plan = reducer_.step_plan(step);
    reducer_.finish_step(&found_, done_);
  }
  void train(std::int64_t step) {
    forward(step);
    finish_step(step);
  }
  /// Broadcasts the statistics, as before the vote of a step.
  void share_statistics(std::int64_t step) {
    rank_state_->world->broadcast(stream(), {state().statistics().committed(step), elements()}, 0);
  }
  Status end() { return stream().synchronize(); }
  void abort() { rank_state_->abort({Errc::collective, "a rank was lost"}); }
  /// Replaces a stream that has failed and does no more work.
  void renew_stream() {
    rank_state_->communication = rank_state_->device().create_stream({.name = "communication"});
  }

  bool has(std::int64_t step, float value) const {
    return committed(step) == std::vector<float>(elements(), value);
  }
  bool has_loaded(std::int64_t step) const {
    return std::ranges::all_of(
        state().layout().storage().statistics, [&, all = committed(step)](const Slot& slot) {
          return std::equal(loaded(slot), loaded(slot) + slot.elements, all.data() + slot.offset);
        });
  }
  const StepWork& done() const { return done_; }
  std::size_t elements() const { return state().layout().storage().statistic_elements; }

private:
  ModelState& state() const { return *rank_state_->state; }
  Stream& stream() const { return *rank_state_->communication; }
  std::vector<float> committed(std::int64_t step) const {
    std::vector<float> values(elements());
    const auto reading = rank_state_->device().create_stream({.name = "reading"});
    rank_state_->device().copy(*reading, values.data(), state().statistics().committed(step),
                               elements() * sizeof(float));
    REQUIRE(reading->synchronize());
    return values;
  }

  std::shared_ptr<RankState> rank_state_;
  GradientReducer reducer_;
  StepWork done_;
  StepResults found_;
  BufferPtr made_;
};

struct Committers {
  Committers() {
    REQUIRE(generation->votes());
    for (const auto& rank_state : generation->rank_states)
      ranks.emplace_back(rank_state);
  }
  /// Runs steps that all ranks vote for.
  void train(std::int64_t first, std::int64_t end) {
    for (auto step = first; step < end; ++step)
      for (auto& rank : ranks)
        rank.train(step);
    for (auto& rank : ranks)
      REQUIRE(rank.end());
  }
  /// Returns the state to the compiled job, and a copy of it.
  Checkpoint leave(std::int64_t step) {
    REQUIRE(return_state(*generation, step));
    CHECK(compiled_job->state->header().step == step);
    return read_whole(*compiled_job->state).value();
  }

  /// Salvages the state as when ranks of other nodes may be lost, and returns a copy.
  Checkpoint leave_own() {
    REQUIRE(salvage_state(*generation));
    return read_whole(*compiled_job->state).value();
  }

  std::shared_ptr<CompiledJob> compiled_job =
      compile_job(open_job(committers_job(), {}).value(), 2, {}).value();
  std::shared_ptr<Generation> generation =
      build_generation(compiled_job, testing::voting_assignment(2)).value();
  std::vector<Committer> ranks;
};

/// Whether all statistics have this value.
bool all_statistics_are(const Checkpoint& checkpoint, float value) {
  int found = 0;
  for (const auto& tensor : checkpoint.tensors)
    if (tensor.name.find(".running_") != std::string::npos) {
      ++found;
      if (std::ranges::any_of(tensor.values, [value](float v) { return v != value; }))
        return false;
    }
  return found > 0;
}

} // namespace

TEST_CASE(
    "after each step every rank has the first rank's statistics, and the others' after the last") {
  testing::need_device();
  Committers two;
  for (std::int64_t step = 0; step < most_steps; ++step) {
    two.train(step, step + 1);
    for (const auto& rank : two.ranks) {
      CHECK(rank.has(step, Committer::made(0, step)));
      CHECK((step == 0 ? rank.has_loaded(-1) : rank.has(step - 1, Committer::made(0, step - 1))));
    }
  }
  const auto& sent = two.ranks.front().done();
  CHECK(std::ranges::count_if(sent.done, [&](const Collective& collective) {
          return collective.kind == metrics::CollectiveKind::broadcast &&
                 collective.bytes == two.ranks.front().elements() * sizeof(float);
        }) == most_steps);
  CHECK(all_statistics_are(two.leave(most_steps), Committer::made(0, most_steps - 1)));
}

TEST_CASE("a step that not all ranks have prepared commits no statistics") {
  const bool lost_behind_statistics = GENERATE(false, true);
  CAPTURE(lost_behind_statistics);
  testing::need_device();
  Committers two;
  two.train(0, 7);
  auto &first = two.ranks[0], &second = two.ranks[1];
  for (const std::int64_t under_way : {7, 8, 9, 10})
    first.train(under_way);
  second.forward(7);
  if (lost_behind_statistics)
    second.share_statistics(7);
  REQUIRE(second.end());
  for (auto* rank : {&second, &first}) // before the vote of the second rank
    rank->abort();
  CHECK_FALSE(first.end());
  for (const auto& rank : two.ranks)
    CHECK(rank.has(6, Committer::made(0, 6)));
  const auto own = two.leave_own();
  CHECK(own.step == 7);
  CHECK(all_statistics_are(own, Committer::made(0, 6)));
  for (auto& rank : two.ranks)
    rank.renew_stream();
  CHECK(all_statistics_are(two.leave(7), Committer::made(0, 6)));
}

TEST_CASE("ranks that have not prepared a step have the loaded statistics") {
  testing::need_device();
  Committers two;
  for (auto& rank : two.ranks) {
    rank.forward(0);
    REQUIRE(rank.end());
    CHECK(rank.has_loaded(-1));
  }
  const auto left = two.leave(0);
  for (const auto& slot :
       two.generation->rank_states.front()->state->layout().storage().statistics) {
    const auto* const tensor = left.find(slot.name);
    REQUIRE(tensor);
    CHECK(std::equal(tensor->values.begin(), tensor->values.end(), loaded(slot)));
  }
}
