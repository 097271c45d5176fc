// Tests generations of different sizes, one after the other, on one compiled job; tests/gpu
// compiles it for CUDA.
#include "actors/node/node.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/tested_device.hpp"
#include "tests/support/voting_assignment.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstring>

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr int workers = 4;
constexpr std::int64_t steps_each = 3;
using RankStates = std::vector<std::shared_ptr<training::RankState>>;

Config small_job(StrategyKind strategy, std::int64_t steps) {
  auto config = test::small_job();
  config.parallel.strategy = strategy;
  config.devices.kind = testing::tested_kind;
  config.devices.count = workers;
  config.train.max_steps = steps;
  return config;
}

std::shared_ptr<const training::Job> job_of(StrategyKind strategy, std::int64_t steps) {
  return training::open_job(small_job(strategy, steps), {}).value();
}

/// A job for two workers.
struct Shared {
  StrategyKind strategy;
  int slices;
  Precision precision = Precision::fp32;
};

std::shared_ptr<const training::Job> job_of(const Shared& shared, std::int64_t steps) {
  auto config = small_job(shared.strategy, steps);
  config.devices.count = 2;
  config.data.slices = shared.slices;
  config.precision.mode = shared.precision;
  return training::open_job(config, {}).value();
}

/// Trains to the end of the compiled job with the workers of the assignment. Returns the losses;
/// fills `rank_states`, if given, with the remaining rank states.
std::vector<double> train(const std::shared_ptr<training::CompiledJob>& compiled_job,
                          const training::NodeAssignment& assignment,
                          RankStates* rank_states = nullptr) {
  const auto losses = std::make_shared<std::vector<double>>();
  caf::actor_system_config settings;
  caf::actor_system system{settings};
  const auto metrics = test::spawn_stub<metrics_actor>(
      system,
      [losses](atom::record, const RunRecordPtr& event) {
        if (const auto* step = std::get_if<metrics::StepRecord>(event.get()))
          losses->push_back(step->loss);
      },
      [](atom::finish, const RunOutcomePtr& outcome) { return outcome; });
  const NodeWorkPtr work = std::make_shared<test::SmallWork>(
      compiled_job, assignment, metrics, [&](const training::Generation& generation) {
        if (rank_states)
          *rank_states = generation.rank_states;
      });
  const auto node = system.spawn<node_actor::stateful_impl<NodeState>>(NodeSetup{.stopped = [] {}});
  caf::scoped_actor self{system};
  self->request(node, caf::infinite, atom::run_v, work)
      .receive(
          [&](const RunOutcomePtr& outcome) {
            INFO((outcome->error ? outcome->error->to_string() : ""));
            CHECK(outcome->summary.status == "completed");
          },
          [](const caf::error& error) { FAIL(caf::to_string(error)); });
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
  return *losses;
}

std::vector<double> train(const std::shared_ptr<training::CompiledJob>& compiled_job,
                          std::int32_t ranks) {
  return train(compiled_job, training::single_node_assignment(ranks, "here"));
}

bool same_bits(const Checkpoint& a, const Checkpoint& b) {
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const auto* const found = b.find(a.tensors[i].name);
    if (!found || found->shape != a.tensors[i].shape ||
        std::memcmp(found->values.data(), a.tensors[i].values.data(),
                    a.tensors[i].values.size_bytes()) != 0)
      return false;
  }
  return true;
}

/// Gives the state of the compiled job to a generation and takes it back.
Checkpoint through_a_generation(const std::shared_ptr<training::CompiledJob>& compiled_job,
                                std::int32_t ranks) {
  const auto step = compiled_job->state->header().step;
  {
    const auto generation =
        training::build_generation(compiled_job, training::single_node_assignment(ranks, "here"));
    REQUIRE(generation);
    CHECK_FALSE(compiled_job->state);
    REQUIRE(training::return_state(**generation, step));
  }
  return read_whole(*compiled_job->state).value();
}

/// Whether a rank has the statistics that remained after a step.
bool has_committed(const training::RankState& rank_state, std::int64_t step,
                   const Checkpoint& left) {
  const auto& layout = rank_state.state->layout().storage();
  std::vector<float> values(layout.statistic_elements);
  auto& stream = *rank_state.communication;
  rank_state.device().copy(stream, values.data(), rank_state.state->statistics().committed(step),
                           values.size() * sizeof(float));
  REQUIRE(stream.synchronize());
  return std::ranges::all_of(layout.statistics, [&](const Slot& slot) {
    return std::memcmp(left.find(slot.name)->values.data(), values.data() + slot.offset,
                       slot.elements * sizeof(float)) == 0;
  });
}

/// Returns the bytes of activations on all devices, which compiled graphs own.
std::size_t compiled_bytes(const training::CompiledJob& compiled_job) {
  std::size_t bytes = 0;
  for (const auto& compiled : compiled_job.compiled)
    bytes += compiled->device->memory().current[static_cast<std::size_t>(MemoryKind::activations)];
  return bytes;
}

std::vector<const Executable*> executables(const training::CompiledJob& compiled_job) {
  std::vector<const Executable*> all;
  for (const auto& compiled : compiled_job.compiled)
    all.push_back(compiled->train.get());
  return all;
}

} // namespace

TEST_CASE("generations of 4, 3, 2 and 1 workers continue from each other on one host") {
  testing::need_device();
  const auto strategy = GENERATE(StrategyKind::ddp, StrategyKind::zero1, StrategyKind::zero3);
  CAPTURE(to_string(strategy));

  const auto undisturbed_host =
      training::compile_job(job_of(strategy, 4 * steps_each), workers, {}).value();
  const auto undisturbed = train(undisturbed_host, workers);
  REQUIRE(undisturbed.size() == 4 * steps_each);

  const auto compiled_job =
      training::compile_job(job_of(strategy, steps_each), workers, {}).value();
  const auto compiled = executables(*compiled_job);
  const auto bytes = compiled_bytes(*compiled_job);
  std::vector<double> losses;
  for (const std::int32_t ranks : {4, 3, 2, 1}) {
    const auto more = train(compiled_job, ranks);
    losses.insert(losses.end(), more.begin(), more.end());
    REQUIRE(compiled_job->state);
    CHECK(compiled_job->state->header().step == std::ssize(losses));
    // A generation of any size that takes the state returns it unchanged.
    const auto left = read_whole(*compiled_job->state).value();
    for (const std::int32_t others : {1, 2, 3, 4})
      CHECK(same_bits(left, through_a_generation(compiled_job, others)));
    CHECK(executables(*compiled_job) == compiled);
    CHECK(compiled_bytes(*compiled_job) == bytes);
    compiled_job->job = job_of(strategy, std::ssize(losses) + steps_each);
  }
  REQUIRE(losses.size() == undisturbed.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Catch::Approx(undisturbed[i]).epsilon(2e-4));
}

TEST_CASE("with two-phase commit, every rank has the first slice's statistics after each step") {
  testing::need_device();
  const auto shared = GENERATE(Shared{StrategyKind::dp, 4}, Shared{StrategyKind::ddp, 3},
                               Shared{StrategyKind::zero1, 2, Precision::amp_fp16},
                               Shared{StrategyKind::zero2, 4, Precision::amp_bf16},
                               Shared{StrategyKind::zero3, 3, Precision::bf16});
  CAPTURE(to_string(shared.strategy), shared.slices, to_string(shared.precision));
  constexpr std::int64_t steps = 3;
  // With one process, the remaining statistics are those of the first rank.
  const auto alone = training::compile_job(job_of(shared, 1), shared.slices, {}).value();
  std::vector<Checkpoint> left;
  for (std::int64_t step = 0; step < steps; ++step) {
    alone->job = job_of(shared, step + 1);
    train(alone, 2);
    left.push_back(read_whole(*alone->state).value());
  }
  const auto voting = training::compile_job(job_of(shared, steps), shared.slices, {}).value();
  RankStates rank_states;
  train(voting, testing::voting_assignment(2), &rank_states);
  CHECK(same_bits(left.back(), read_whole(*voting->state).value()));
  REQUIRE(rank_states.size() == 2);
  for (const auto& rank_state : rank_states)
    for (std::int64_t step = 0; step < steps; ++step) {
      CAPTURE(rank_state->rank, step);
      CHECK(has_committed(*rank_state, step, left[static_cast<std::size_t>(step)]));
    }
}

TEST_CASE("fewer slices than ranks are refused, and the compiled job keeps its state") {
  testing::need_device();
  const auto compiled_job = training::compile_job(job_of(StrategyKind::ddp, 1), 2, {}).value();
  const auto generation =
      training::build_generation(compiled_job, training::single_node_assignment(3, "here"));
  REQUIRE_FALSE(generation);
  CHECK(generation.error().code == Errc::invalid_input);
  CHECK(compiled_job->state);
}
