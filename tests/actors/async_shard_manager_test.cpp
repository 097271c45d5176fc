// An owner that is sent what no rank may send: its generation fails, and memory stays as it was.
#include "actors/roles/async_shard_manager.hpp"
#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <future>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using engine::Gradients;

namespace {

constexpr std::size_t per_unit = 5;

/// One of two ranks, without the other one and without a worker.
class LoneOwner {
public:
  LoneOwner() {
    replica_ = make_replica();
    engine::ExchangeSetup exchange{.replica = replica_,
                                   .dealing = data::Dealing::leased(2, 2),
                                   .optimizer = [](std::int64_t) { return OptimizerArguments{}; }};
    const auto owner = engine::ShardOwner::create(exchange, {.staleness = 1}).value();
    coordinator_ = test::spawn_stub<coordinator_actor>(
        system_, [this](atom::failed, const Error& error) { error_.set_value(error); });
    shard_bytes_ = replica_->state->plan().shard_elements() * sizeof(float);
    memory_ = replica_->device().allocate(shard_bytes_, MemoryKind::communication).value();
    post_ = collectives::Post::open({.process_of = {0, 0}}, nullptr).value();
    shard_manager_ = test::spawn_state<AsyncShardManagerState, shard_manager_actor>(
        system_, AsyncShardManagerSetup{.exchange = std::move(exchange),
                                        .owner = owner,
                                        .post = post_,
                                        .saver = {.coordinator = coordinator_}});
  }
  ~LoneOwner() {
    // As a generation does: what runs works on memory that goes with the owner.
    CHECK(replica_->owner->synchronize());
    CHECK(replica_->communication->synchronize());
    caf::anon_send_exit(shard_manager_, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator_, caf::exit_reason::kill);
  }

  void send(const Gradients& gradients) {
    auto mail = gradients.to_mail();
    mail.from = 1;
    mail.bytes = shard_bytes_;
    mail.values = memory_;
    post_->send(std::move(mail));
  }
  Error error() {
    auto error = error_.get_future();
    REQUIRE(error.wait_for(20s) == std::future_status::ready);
    return error.get();
  }

private:
  static std::shared_ptr<engine::Replica> make_replica() {
    StorageLayout layout;
    layout.parameters = {{"a", {per_unit}, 0, 0, per_unit, nullptr}};
    layout.unit_elements = {per_unit};
    layout.unit_names = {"a"};
    auto replica = std::make_shared<engine::Replica>();
    replica->equipment = std::make_shared<engine::Equipment>(
        engine::Equipment{.device = cpu::make_host_device(0, 1)});
    replica->communication = replica->device().create_stream({.name = "communication"});
    replica->owner = replica->device().create_stream({.name = "owner"});
    replica->state = engine::ModelState::create(
                         replica->device(), layout,
                         {.optimizer_slots = {"momentum"},
                          .strategy = collectives::strategy_of(
                              {.strategy = StrategyKind::async, .stale = {.staleness = 1}}, 2)})
                         .value();
    Checkpoint start;
    const std::vector<float> values = {1, -2, 3, -4, 5};
    start.tensors = {{"a", {per_unit}, values}};
    REQUIRE(replica->state->load(*replica->communication, *state_in_memory(start)));
    return replica;
  }

  std::shared_ptr<engine::Replica> replica_;
  std::promise<Error> error_;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<collectives::Post> post_;
  std::size_t shard_bytes_ = 0;
  BufferPtr memory_;
  coordinator_actor coordinator_;
  shard_manager_actor shard_manager_;
};

} // namespace

TEST_CASE("gradients of a bucket that there is not fail the generation") {
  LoneOwner owner;
  owner.send({.step = 0, .bucket = 1});
  const auto error = owner.error();
  CHECK(error.code == Errc::network);
  CHECK(error.where.rank == 1);
  CHECK(error.where.actor == "shard_manager");
  CHECK_THAT(error.message, ContainsSubstring("rank 1 has sent gradients of bucket 1"));
}

TEST_CASE("gradients that come a second time fail the generation") {
  LoneOwner owner;
  owner.send({.step = 1, .slice = 1});
  owner.send({.step = 1, .slice = 0});
  owner.send({.step = 1, .slice = 1});
  CHECK_THAT(owner.error().message, ContainsSubstring("gradients which nobody awaits"));
}
