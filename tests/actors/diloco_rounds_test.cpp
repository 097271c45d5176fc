// Tests that a rank refuses messages that no rank may send, and continues as if they had not
// arrived.
#include "actors/roles/detail/diloco_rounds.hpp"
#include "core/config/config.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;
using training::PseudoGradientMessage;
using training::RoundSum;

namespace {

/// Config of two replica groups of one worker each; the rounds of the only fragment have four
/// steps.
Config two_replica_groups() {
  Config config;
  config.model.name = "mlp";
  config.model.hidden = {4};
  config.data.dataset = "synthetic";
  config.data.limit = 8;
  config.data.image_size = 8;
  config.data.batch_size = 4;
  config.devices.kind = DeviceKind::cpu;
  config.devices.count = 2;
  config.devices.threads_per_worker = 1;
  config.parallel.strategy = StrategyKind::diloco;
  config.parallel.diloco.steps = 4;
  config.train.evaluate_every = 0;
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  config.run.output = "no-such-folder";
  return config;
}

/// The first replica group, without its actor and without the other group.
class FirstReplicaGroup {
public:
  // As in a generation: enqueued work uses memory that is freed with the object.
  ~FirstReplicaGroup() { CHECK(state_->rank_state().communication->synchronize()); }

  void end_step(std::int64_t step) { REQUIRE(rounds_.end_step(step, 0.5)); }
  bool may_begin(std::int64_t step) const { return rounds_.may_begin(step); }

  Status open(const RoundSum& sum) { return open(sum.to_message(), sum.owner); }
  Status open(const PseudoGradientMessage& change) { return open(change.to_message(), 1); }

  void refuses(const auto& letter) {
    const auto opened = open(letter);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Errc::network);
    CHECK_THAT(opened.error().message, ContainsSubstring("which are not expected"));
  }

private:
  Status open(collectives::Message message, int from) {
    message.from = from;
    message.bytes = values_->bytes();
    message.values = values_;
    return rounds_.open(std::make_shared<const collectives::Message>(std::move(message)));
  }

  std::shared_ptr<training::Generation> on_ =
      training::build_single_node_generation(two_replica_groups()).value();
  std::shared_ptr<training::OuterState> state_ = on_->outer.front();
  BufferPtr values_ =
      state_->rank_state()
          .device()
          .allocate(training::pseudo_gradient_bytes(on_->strategy.diloco.compress,
                                                    state_->fragments().front().chunk),
                    MemoryKind::communication)
          .value();
  DilocoRounds rounds_{
      {.state = state_,
       .sum = on_->sums.front(),
       .point_to_point = collectives::PointToPoint::open({.process_of = {0, 0}}, nullptr).value()},
      [](std::chrono::milliseconds, const std::function<Status()>&) { FAIL("nobody is late"); }};
};

} // namespace

TEST_CASE("a round sum that arrives twice is refused") {
  FirstReplicaGroup replica_group;
  replica_group.end_step(3);
  CHECK_FALSE(replica_group.may_begin(4));
  CHECK(replica_group.open(RoundSum{.round = {0, 3}, .owner = 1}));
  replica_group.refuses(RoundSum{.round = {0, 3}, .owner = 1});
  CHECK_FALSE(replica_group.may_begin(4));
  CHECK(replica_group.open(RoundSum{.round = {0, 3}, .owner = 0}));
  CHECK(replica_group.may_begin(4));
}

TEST_CASE("round sums of unknown rounds, fragments or owners are refused") {
  FirstReplicaGroup replica_group;
  replica_group.end_step(3);
  replica_group.refuses(RoundSum{.round = {0, 2}, .owner = 1});
  replica_group.refuses(RoundSum{.round = {1, 3}, .owner = 1});
  replica_group.refuses(RoundSum{.round = {-1, 3}, .owner = 1});
  replica_group.refuses(RoundSum{.round = {0, 3}, .owner = 2});
}

TEST_CASE("a pseudo-gradient that arrives twice or has no weight is refused") {
  FirstReplicaGroup replica_group;
  replica_group.refuses(PseudoGradientMessage{{0, 3}, 0});
  replica_group.refuses(PseudoGradientMessage{{0, 4}, 0.5});
  CHECK(replica_group.open(PseudoGradientMessage{{0, 3}, 0.5}));
  replica_group.refuses(PseudoGradientMessage{{0, 3}, 0.5});
}
