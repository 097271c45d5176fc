// Generations of different sizes, one after the other, on one host; tests/gpu compiles it for CUDA.
#include "small_job.hpp"

#include "troupe/actors/roles/node.hpp"

#ifdef TROUPE_TEST_CUDA
#include "troupe/gpu/cuda_device.hpp"
#endif

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstring>

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr int workers = 4;
constexpr std::int64_t steps_each = 3;
#ifdef TROUPE_TEST_CUDA
constexpr const char* kind = "cuda";
void need_device() {
  if (gpu::cuda_device_count() < 1)
    SKIP("there is no GPU");
}
#else
constexpr const char* kind = "cpu";
void need_device() {}
#endif

Config small_job(StrategyKind strategy, std::int64_t steps) {
  auto config = test::small_job();
  config.parallel.strategy = strategy;
  config.devices.kind = kind;
  config.devices.count = workers;
  config.train.max_steps = steps;
  return config;
}

std::shared_ptr<const engine::Job> job_of(StrategyKind strategy, std::int64_t steps) {
  return engine::open_job(small_job(strategy, steps), {}).value();
}

/// Trains to the end of the host's job with so many workers; their losses.
std::vector<double> train(const std::shared_ptr<engine::Host>& host, std::int32_t ranks) {
  const auto losses = std::make_shared<std::vector<double>>();
  caf::actor_system_config settings;
  caf::actor_system system{settings};
  const auto metrics = test::spawn_stub<metrics_actor>(
      system,
      [losses](atom::step_committed, const StepRecordPtr& step) { losses->push_back(step->loss); },
      [](atom::finish, const RunOutcomePtr& outcome) { return outcome; });
  const auto former = test::spawn_former(system, host, ranks, metrics);
  const auto node = system.spawn<node_actor::stateful_impl<NodeState>>(NodeSetup{.stopped = [] {}});
  caf::scoped_actor self{system};
  self->request(node, caf::infinite, atom::run_v, former)
      .receive(
          [&](const RunOutcomePtr& outcome) {
            INFO((outcome->error ? outcome->error->to_string() : ""));
            CHECK(outcome->summary.status == "completed");
          },
          [](const caf::error& error) { FAIL(caf::to_string(error)); });
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
  return *losses;
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

/// What the host has, given to a generation and taken back.
Checkpoint through_a_generation(const std::shared_ptr<engine::Host>& host, std::int32_t ranks) {
  const auto step = host->state->header().step;
  {
    const auto generation = engine::form_generation(host, engine::seat_alone(ranks, "here"));
    REQUIRE(generation);
    CHECK_FALSE(host->state);
    REQUIRE(engine::leave_state(**generation, step));
  }
  return read_whole(*host->state).value();
}

/// Bytes of activations on all devices: what compiled graphs hold.
std::size_t compiled_bytes(const engine::Host& host) {
  std::size_t bytes = 0;
  for (const auto& equipment : host.equipment)
    bytes += equipment->device->memory().current[static_cast<std::size_t>(MemoryKind::activations)];
  return bytes;
}

std::vector<const Executable*> executables(const engine::Host& host) {
  std::vector<const Executable*> all;
  for (const auto& equipment : host.equipment)
    all.push_back(equipment->train.get());
  return all;
}

} // namespace

TEST_CASE("generations of 4, 3, 2 and 1 workers go on from each other on one host") {
  need_device();
  const auto strategy = GENERATE(StrategyKind::ddp, StrategyKind::zero1, StrategyKind::zero3);
  CAPTURE(to_string(strategy));

  const auto undisturbed_host =
      engine::make_host(job_of(strategy, 4 * steps_each), workers, {}).value();
  const auto undisturbed = train(undisturbed_host, workers);
  REQUIRE(undisturbed.size() == 4 * steps_each);

  const auto host = engine::make_host(job_of(strategy, steps_each), workers, {}).value();
  const auto compiled = executables(*host);
  const auto bytes = compiled_bytes(*host);
  std::vector<double> losses;
  for (const std::int32_t ranks : {4, 3, 2, 1}) {
    const auto more = train(host, ranks);
    losses.insert(losses.end(), more.begin(), more.end());
    REQUIRE(host->state);
    CHECK(host->state->header().step == std::ssize(losses));
    // Whoever takes the state gives the same back.
    const auto left = read_whole(*host->state).value();
    for (const std::int32_t others : {1, 2, 3, 4})
      CHECK(same_bits(left, through_a_generation(host, others)));
    CHECK(executables(*host) == compiled);
    CHECK(compiled_bytes(*host) == bytes);
    host->job = job_of(strategy, std::ssize(losses) + steps_each);
  }
  REQUIRE(losses.size() == undisturbed.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Catch::Approx(undisturbed[i]).epsilon(2e-4));
}

TEST_CASE("fewer slices than ranks are refused, and the host keeps its state") {
  need_device();
  const auto host = engine::make_host(job_of(StrategyKind::ddp, 1), 2, {}).value();
  const auto generation = engine::form_generation(host, engine::seat_alone(3, "here"));
  REQUIRE_FALSE(generation);
  CHECK(generation.error().code == Errc::invalid_input);
  CHECK(host->state);
}
