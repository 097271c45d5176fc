// Delay until a worker may compute a unit: from need_parameters to parameters_ready, with
// ResNet-20's real SHARD MANAGER between two scheduled actors. If parameters are sharded, it
// enqueues the unit's all-gather in between; the gather itself runs on the communication stream.
//
//   bench_unit_scheduling [passes]
#include "actors/node/network.hpp"
#include "actors/roles/shard_manager.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace {

using namespace troupe;
using namespace troupe::actors;
using Clock = std::chrono::steady_clock;
using Times = std::vector<double>; ///< microseconds

/// A coordinator that ignores everything; no failures occur here.
struct Nobody {
  static inline const char* name = "nobody";
  explicit Nobody(coordinator_actor::pointer) {}
  coordinator_actor::behavior_type make_behavior() {
    return {[](atom::join, const RankInfo&, const worker_actor&, const shard_manager_actor&,
               const metrics_actor&) {},
            [](atom::run) { return RunOutcomePtr{}; },
            [](atom::step_committed, const StepReport&) {},
            [](atom::evaluated, const EvaluationReport&) {},
            [](atom::measure, std::int32_t, double) {},
            [](atom::saved, const ShardOutcome&) {},
            [](atom::failed, const Error&) {},
            [](atom::failed, double) {},
            [](atom::assign, std::int32_t) {},
            [](atom::done, std::int32_t, Pass) {},
            [](atom::propose, std::int32_t, std::int64_t, const training::StepResults&) {},
            [](atom::vote, std::int32_t, std::int64_t) {},
            [](atom::stop, const Error&) {},
            [](atom::halt, bool) {},
            [](atom::abort) {},
            [](atom::release) { return RunTotalsPtr{}; },
            [](atom::status) { return JobStatus{}; }};
  }
};

/// Runs forward passes over the test set unit by unit, and records the delay of each answer.
struct Client {
  static inline const char* name = "client";
  Client(worker_actor::pointer me, synchronous_shard_manager_actor whom, UnitId unit_count,
         std::int64_t passes, caf::actor whom_to_tell, std::shared_ptr<Times> kept)
      : self{me}, server{std::move(whom)}, units{unit_count}, left{passes},
        report{std::move(whom_to_tell)}, times{std::move(kept)} {}
  worker_actor::behavior_type make_behavior() {
    self->send(server, atom::join_v, worker_actor{self});
    ask();
    return {[](atom::advance, std::int64_t) {},
            [](atom::batch, const MicroBatchPtr&) {},
            [this](atom::parameters_ready, const ParameterRequest& use, const EventPtr& event) {
              times->push_back(
                  std::chrono::duration<double, std::micro>(Clock::now() - asked).count());
              self->send(server, atom::released_v, use, event);
              next.unit = (next.unit + 1) % units;
              if (next.unit == 0 && --left == 0)
                return caf::anon_send(report, std::int64_t{0});
              ask();
            },
            [](atom::assign, const data::SliceAssignment&) {},
            [](atom::assign, Pass) {},
            [](atom::evaluate, std::int64_t, const EventPtr&) {},
            [](atom::measure) {},
            [](atom::done, const FollowUpPtr&) {}};
  }
  void ask() {
    asked = Clock::now();
    self->send(server, atom::need_parameters_v, next);
  }
  worker_actor::pointer self;
  synchronous_shard_manager_actor server;
  UnitId units;
  std::int64_t left;
  caf::actor report;
  ParameterRequest next{.pass_mode = PassMode::evaluation};
  Clock::time_point asked;
  std::shared_ptr<Times> times;
};

Config two_workers(StrategyKind strategy) {
  Config config;
  config.model.name = "resnet20";
  config.data.dataset = "synthetic";
  config.data.limit = 64;
  config.data.image_size = 8;
  config.data.batch_size = config.data.eval_batch_size = 8;
  config.parallel.strategy = strategy;
  config.devices.kind = DeviceKind::cpu;
  config.devices.count = 2;
  config.devices.threads_per_worker = 1;
  config.checkpoint.resume.kind = ResumeConfig::Kind::automatic;
  config.run.output = "no-such-folder";
  return config;
}

/// Returns the times of both ranks.
Result<Times> measure(StrategyKind strategy, std::int64_t passes) {
  const auto config = two_workers(strategy);
  const auto generation = training::build_single_node_generation(config);
  if (!generation)
    return failure(generation.error());
  SystemConfig settings{std::nullopt};
  caf::actor_system system{settings};
  caf::scoped_actor self{system};
  const auto coordinator = system.spawn<coordinator_actor::stateful_impl<Nobody>>();
  std::vector<caf::actor> others = {caf::actor_cast<caf::actor>(coordinator)};
  std::vector<std::shared_ptr<Times>> kept;
  for (const auto& rank_state : (*generation)->rank_states) {
    const auto shard_manager =
        system.spawn<synchronous_shard_manager_actor::stateful_impl<ShardManagerState>>(
            ShardManagerSetup{.reducer = {.rank_state = rank_state,
                                          .slice_assignment = (*generation)->slice_assignment,
                                          .optimizer = (*generation)->job().optimizer},
                              .others = {.coordinator = coordinator}});
    const auto units = static_cast<UnitId>(rank_state->train().layout().unit_elements.size());
    kept.push_back(std::make_shared<Times>());
    others.push_back(caf::actor_cast<caf::actor>(shard_manager));
    others.push_back(caf::actor_cast<caf::actor>(system.spawn<worker_actor::stateful_impl<Client>>(
        shard_manager, units, passes, caf::actor_cast<caf::actor>(self), kept.back())));
  }
  Times all;
  for (std::size_t i = 0; i < kept.size(); ++i)
    self->receive([](std::int64_t) {});
  for (const auto& rank_state : (*generation)->rank_states)
    std::ignore = rank_state->communication->synchronize();
  for (const auto& other : others)
    caf::anon_send_exit(other, caf::exit_reason::kill);
  for (const auto& times : kept)
    all.insert(all.end(), times->begin(), times->end());
  return all;
}

} // namespace

int main(int argc, char** argv) {
  const std::int64_t passes = argc > 1 ? std::atoll(argv[1]) : 500;
  for (const auto strategy : {StrategyKind::ddp, StrategyKind::zero3}) {
    auto times = measure(strategy, passes);
    if (!times) {
      fmt::print(stderr, "{}\n", times.error().to_string());
      return 1;
    }
    std::ranges::sort(*times);
    const auto at = [&](double part) {
      return (*times)[static_cast<std::size_t>(part * static_cast<double>(times->size() - 1))];
    };
    fmt::print("{:<6} {} units: median {:.2f} us, 90% within {:.2f} us, 99% within {:.2f} us\n",
               to_string(strategy), times->size(), at(0.5), at(0.9), at(0.99));
  }
}
