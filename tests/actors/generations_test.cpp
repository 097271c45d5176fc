// Generations of different sizes, one after the other, on one host; tests/gpu compiles it for CUDA.
#include "troupe/actors/cluster/carried_error.hpp"
#include "troupe/actors/roles/formed.hpp"
#include "troupe/actors/roles/node.hpp"

#ifdef TROUPE_TEST_CUDA
#include "troupe/gpu/cuda_device.hpp"
#endif

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstring>
#include <tuple>

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

/// Keeps the losses of steps; stands for what a person sees.
class LossKeeper {
public:
  LossKeeper(metrics_actor::pointer, std::shared_ptr<std::vector<double>> losses)
      : losses_{std::move(losses)} {}
  static inline const char* name = "losses";

  metrics_actor::behavior_type make_behavior() {
    return {
        [](atom::join, const std::vector<NodeStatus>&) {},
        [this](atom::step_committed, const StepRecordPtr& step) { losses_->push_back(step->loss); },
        [](atom::evaluated, const EpochRecordPtr&) {},
        [](atom::status, const WorkerSummaries&) {},
        [](atom::status, metrics::JobPhase) {},
        [](atom::failed, double) {},
        [](atom::saved, const CheckpointOutcome&) {},
        [](atom::tick) {},
        [](atom::finish, const RunOutcomePtr& outcome) { return outcome; }};
  }

private:
  std::shared_ptr<std::vector<double>> losses_;
};

/// Forms one generation of so many workers on a host that is there, and lets it leave its state.
class LocalFormer {
public:
  LocalFormer(former_actor::pointer, std::shared_ptr<engine::Host> host, std::int32_t ranks,
              metrics_actor metrics)
      : host_{std::move(host)}, ranks_{ranks}, metrics_{std::move(metrics)} {}
  static inline const char* name = "former";

  former_actor::behavior_type make_behavior() {
    return {[this](atom::form) -> caf::result<FormedPtr> {
              auto formed = engine::form_generation(host_, engine::seat_alone(ranks_, "here"));
              if (!formed)
                return carry(formed.error());
              generation_ = std::move(*formed);
              return FormedPtr{std::make_shared<const Formed>(Formed{
                  .generation = generation_, .info = generation_->info(), .metrics = metrics_})};
            },
            [this](atom::release) {
              std::ignore = engine::leave_state(*generation_, host_->job->plan.total_steps());
              generation_.reset();
            }};
  }

private:
  std::shared_ptr<engine::Host> host_;
  std::int32_t ranks_;
  metrics_actor metrics_;
  std::shared_ptr<engine::Generation> generation_;
};

Config small_job(StrategyKind strategy, std::int64_t steps) {
  Config config;
  config.model.name = "resnet20";
  config.model.stem = "cifar";
  config.model.width = 4;
  config.data.dataset = "synthetic";
  config.data.synthetic_samples = 64;
  config.data.image_size = 8;
  config.data.batch_size = 16;
  config.parallel.strategy = strategy;
  config.parallel.bucket_size = 64 << 10;
  config.devices.kind = kind;
  config.devices.count = workers;
  config.devices.threads_per_worker = 1;
  config.run.deterministic = true;
  config.train.evaluate_every = 0;
  config.train.max_steps = steps;
  config.checkpoint.every = {};
  config.checkpoint.resume = "never";
  config.run.output = "no-such-folder";
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
  const auto metrics = system.spawn<metrics_actor::stateful_impl<LossKeeper>>(losses);
  const auto former =
      system.spawn<former_actor::stateful_impl<LocalFormer>, caf::detached>(host, ranks, metrics);
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
  const auto step = host->state->step;
  {
    const auto generation = engine::form_generation(host, engine::seat_alone(ranks, "here"));
    REQUIRE(generation);
    CHECK_FALSE(host->state);
    REQUIRE(engine::leave_state(**generation, step));
  }
  return *host->state;
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

TEST_CASE("generations of 4, 2 and 1 workers go on from each other on one host") {
  need_device();
  const auto strategy = GENERATE(StrategyKind::ddp, StrategyKind::zero1, StrategyKind::zero3);
  CAPTURE(to_string(strategy));

  const auto undisturbed_host =
      engine::make_host(job_of(strategy, 3 * steps_each), workers, {}).value();
  const auto undisturbed = train(undisturbed_host, workers);
  REQUIRE(undisturbed.size() == 3 * steps_each);

  const auto host = engine::make_host(job_of(strategy, steps_each), workers, {}).value();
  const auto compiled = executables(*host);
  const auto bytes = compiled_bytes(*host);
  std::vector<double> losses;
  for (const std::int32_t ranks : {4, 2, 1}) {
    const auto more = train(host, ranks);
    losses.insert(losses.end(), more.begin(), more.end());
    REQUIRE(host->state);
    CHECK(host->state->step == std::ssize(losses));
    // Whoever takes the state gives the same back.
    const auto left = *host->state;
    for (const std::int32_t others : {1, 2, 4})
      CHECK(same_bits(left, through_a_generation(host, others)));
    CHECK(executables(*host) == compiled);
    CHECK(compiled_bytes(*host) == bytes);
    host->job = job_of(strategy, std::ssize(losses) + steps_each);
  }
  REQUIRE(losses.size() == undisturbed.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Catch::Approx(undisturbed[i]).epsilon(2e-4));
}

TEST_CASE("slices that cannot be dealt equally are refused, and the host keeps its state") {
  need_device();
  const auto host = engine::make_host(job_of(StrategyKind::ddp, 1), workers, {}).value();
  const auto generation = engine::form_generation(host, engine::seat_alone(3, "here"));
  REQUIRE_FALSE(generation);
  CHECK(generation.error().code == Errc::invalid_input);
  CHECK(host->state);
}
