// Tests the saving of a SHARD MANAGER with the state of a real rank.
#include "actors/roles/shard_manager.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/held_stream.hpp"
#include "tests/actors/small_job.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;

namespace {

struct Saver : test::Deterministic {
  Saver() {
    checkpointer = test::spawn_stub<checkpointer_actor>(
        system, [this](atom::snapshot, const StateChunkPtr& chunk, bool) {
          received.push_back("checkpointer");
          return ShardOutcome{.step = chunk->step};
        });
    generator =
        test::spawn_stub<generator_actor>(system, [this](atom::snapshot, const StateChunkPtr&) {
          received.push_back("generator");
          return true;
        });
    shard_manager = test::spawn_state<ShardManagerState, synchronous_shard_manager_actor>(
        system,
        ShardManagerSetup{.reducer = generation->reducer(rank_state),
                          .others = {.checkpointer = checkpointer, .generator = generator}});
    scheduler.run();
  }
  ~Saver() {
    for (const auto& each :
         {caf::actor_cast<caf::actor>(shard_manager), caf::actor_cast<caf::actor>(checkpointer),
          caf::actor_cast<caf::actor>(generator)})
      self->send_exit(each, caf::exit_reason::kill);
    scheduler.run();
  }

  void finish_copies() {
    scheduler.run();
    stream.work();
    scheduler.run();
  }

  std::shared_ptr<training::Generation> generation =
      training::build_generation(test::compile_job(test::small_job(), 1),
                                 training::single_node_assignment(1, "here"))
          .value();
  std::shared_ptr<training::RankState> rank_state = generation->rank_states.front();
  test::HeldStream stream{rank_state->communication};
  std::vector<std::string> received;
  checkpointer_actor checkpointer;
  generator_actor generator;
  shard_manager_actor shard_manager;
};

} // namespace

TEST_CASE("two copies of one step are both passed on, in their order") {
  Saver saver;
  auto hashed = saver.self->request(saver.shard_manager, caf::infinite, atom::gather_v,
                                    std::int64_t{5}, std::uint64_t{0}, ChunkUse::digest);
  auto sampled = saver.self->request(saver.shard_manager, caf::infinite, atom::gather_v,
                                     std::int64_t{5}, std::uint64_t{0}, ChunkUse::sample);
  saver.finish_copies();
  CHECK(saver.received == std::vector<std::string>{"checkpointer", "generator"});
  hashed.receive([](const ShardOutcome& outcome) { CHECK(outcome.step == 5); },
                 [](const caf::error& error) { FAIL(caf::to_string(error)); });
  sampled.receive([](const ShardOutcome& outcome) { CHECK(outcome.is_last); },
                  [](const caf::error& error) { FAIL(caf::to_string(error)); });
}
