// Cost of a message: round trips and one-way messages between scheduled and detached actors that
// use the message types of SHARD MANAGER and WORKER, for CAF's two scheduling policies.
//
//   bench_messages [round trips]
#include "actors/interfaces.hpp"
#include "actors/node/network.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

namespace {

using namespace troupe;
using namespace troupe::actors;
using Clock = std::chrono::steady_clock;

/// Answers need_parameters as a shard manager that has all parameters.
struct Server {
  static inline const char* name = "server";
  explicit Server(shard_manager_actor::pointer me) : self{me} {}
  shard_manager_actor::behavior_type make_behavior() {
    return {[this](atom::join, const worker_actor& who) { worker = who; },
            [this](atom::need_parameters, const ParameterRequest& use) {
              self->send(worker, atom::parameters_ready_v, use, EventPtr{});
            },
            [](atom::gradients_ready, Pass, UnitId, const EventPtr&) {},
            [](atom::done, const WorkerStep&, const SpansPtr&) {},
            [](atom::done, const FollowUpPtr&) {},
            [](atom::deliver, const collectives::MessagePtr&) {},
            [](atom::evaluate, std::int64_t) {},
            [](atom::save, std::int64_t) {},
            [](atom::gather, std::int64_t, std::uint64_t, ChunkUse) { return ShardOutcome{}; },
            [](atom::abort, const Error&) {}};
  }
  shard_manager_actor::pointer self;
  worker_actor worker;
};

/// Requests the next unit as soon as the last request is answered; notifies `report` after all.
struct Client {
  static inline const char* name = "client";
  Client(worker_actor::pointer me, shard_manager_actor whom, caf::actor whom_to_tell)
      : self{me}, server{std::move(whom)}, report{std::move(whom_to_tell)} {}
  worker_actor::behavior_type make_behavior() {
    self->send(server, atom::join_v, worker_actor{self});
    return {[this](atom::advance, std::int64_t count) {
              left = count;
              self->send(server, atom::need_parameters_v, ParameterRequest{});
            },
            [](atom::batch, const MicroBatchPtr&) {},
            [this](atom::parameters_ready, const ParameterRequest& use, const EventPtr&) {
              if (--left > 0)
                self->send(server, atom::need_parameters_v, use);
              else
                caf::anon_send(report, std::int64_t{0});
            },
            [](atom::assign, const data::SliceAssignment&) {},
            // One-way: sends the requested number of gradients_ready.
            [this](atom::assign, Pass count) {
              for (std::int64_t i = 0; i < count; ++i)
                self->send(server, atom::gradients_ready_v, Pass{0}, UnitId{0}, EventPtr{});
              caf::anon_send(report, count);
            },
            [](atom::evaluate, std::int64_t, const EventPtr&) {}, [](atom::measure) {},
            [](atom::done, const FollowUpPtr&) {}};
  }
  worker_actor::pointer self;
  shard_manager_actor server;
  caf::actor report;
  std::int64_t left = 0;
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <caf::spawn_options Options>
void measure(const std::string& policy, const char* label, std::int64_t count) {
  caf::actor_system_config config;
  config.set("caf.scheduler.policy", policy);
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto server = system.spawn<shard_manager_actor::stateful_impl<Server>, Options>();
  const auto client = system.spawn<worker_actor::stateful_impl<Client>, Options>(
      server, caf::actor_cast<caf::actor>(self));

  auto begin = Clock::now();
  self->send(client, atom::advance_v, count);
  self->receive([](std::int64_t) {});
  const auto round_trip = since(begin) / static_cast<double>(count);

  begin = Clock::now();
  self->send(client, atom::assign_v, count * 10);
  self->receive([](std::int64_t) {});
  self->request(server, caf::infinite, atom::save_v, std::int64_t{0})
      .receive([] {}, [](const caf::error&) {});
  const auto rate = static_cast<double>(count * 10) / since(begin);

  begin = Clock::now();
  constexpr int wakes = 2000;
  for (int i = 0; i < wakes; ++i)
    self->request(server, caf::infinite, atom::save_v, std::int64_t{0})
        .receive([] {}, [](const caf::error&) {});
  const auto blocking = since(begin) / wakes;

  fmt::print("{:<9} {:<10} {:>10.2f} us {:>12.2f} M/s {:>14.1f} us\n", policy, label,
             1e6 * round_trip, 1e-6 * rate, 1e6 * blocking);
  caf::anon_send_exit(client, caf::exit_reason::kill);
  caf::anon_send_exit(server, caf::exit_reason::kill);
}

} // namespace

int main(int argc, char** argv) {
  troupe::actors::register_message_types();
  const auto count = argc > 1 ? std::atoll(argv[1]) : 200000;
  fmt::print("{:<9} {:<10} {:>13} {:>16} {:>17}\n", "policy", "actors", "round trip", "one-way",
             "blocking request");
  for (const std::string policy : {"stealing", "sharing"}) {
    measure<caf::no_spawn_options>(policy, "scheduled", count);
    measure<caf::detached>(policy, "detached", count / 50);
  }
}
