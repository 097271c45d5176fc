// Tests predictions of memory against ZeRO's formulas and against the buffers of a real state; and
// which strategy is recommended.
#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "training/prediction/strategy_choice.hpp"
#include "training/state/model_state.hpp"
#include "training/strategies/async/step_sum.hpp"
#include "training/strategies/diloco/outer_state.hpp"
#include "training/strategies/diloco/pseudo_gradient_reducer.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <numeric>

using namespace troupe;
using namespace troupe::training;
using Catch::Approx;

namespace {

/// A model of 25 million parameters, Adam, 4 workers.
WorkerNeeds large() {
  return {.world_size = 4,
          .unit_elements = std::vector<std::size_t>(25, 1'000'000),
          .unit_names = std::vector<std::string>(25, "unit"),
          .optimizer_slots = 2,
          .capacity = SIZE_MAX};
}

ParallelConfig parallel(std::string_view strategy) {
  return {.strategy = choice_named<StrategyKind>(strategy).value()};
}

std::size_t bytes(const Prediction& prediction, MemoryKind kind) {
  return prediction.bytes[static_cast<std::size_t>(kind)];
}

double model_state_bytes(const Prediction& prediction) {
  return static_cast<double>(bytes(prediction, MemoryKind::parameters) +
                             bytes(prediction, MemoryKind::gradients) +
                             bytes(prediction, MemoryKind::optimizer));
}

std::vector<Prediction> all_of(const WorkerNeeds& needs) {
  std::vector<Prediction> all;
  for (const auto& like : alternatives(needs, parallel("ddp")))
    all.push_back(predict(needs, like));
  return all;
}

Prediction option(std::string_view strategy, bool fits) {
  return {.strategy = choice_named<StrategyKind>(strategy).value(), .fits = fits};
}

/// Two replica groups of two workers.
ParallelConfig replica_groups_of_two(StrategyKind inner) {
  auto config = parallel("diloco");
  config.diloco.group_size = 2;
  config.diloco.inner = inner;
  config.diloco.steps = 4;
  return config;
}

/// Objects of rank 0, which sends for its replica group.
struct Speaker {
  std::shared_ptr<RankState> rank_state = std::make_shared<RankState>();
  std::shared_ptr<OuterState> outer = nullptr;
  std::shared_ptr<PseudoGradientReducer> sums = nullptr;
};

Speaker speaker(const std::shared_ptr<Device>& device, std::shared_ptr<ModelState> state) {
  Speaker made;
  made.rank_state->compiled = std::make_shared<CompiledWorker>();
  made.rank_state->compiled->device = device;
  made.rank_state->state = std::move(state);
  made.rank_state->communication = device->create_stream({.name = "communication"});
  made.rank_state->owner = device->create_stream({.name = "owner"});
  made.outer = *OuterState::create(made.rank_state);
  made.sums = *PseudoGradientReducer::create(made.rank_state, made.outer->fragments());
  return made;
}

/// Returns all buffers that this rank sends for a fragment in a round, before any message has
/// arrived.
std::vector<BufferPtr> sent_in_a_round(const Speaker& rank, int fragment) {
  const Round round{fragment, 0};
  auto sent = *rank.outer->end_round(fragment, 0.5);
  REQUIRE(rank.rank_state->communication->synchronize());
  const auto change =
      std::make_shared<collectives::Message>(PseudoGradientMessage{round, 0.5}.to_message());
  change->values = sent.front();
  REQUIRE(rank.sums->close(round, {change},
                           [&](const collectives::Message& sum) { sent.push_back(sum.values); }));
  REQUIRE(rank.sums->stream().synchronize());
  return sent;
}

} // namespace

TEST_CASE("parameters, gradients and optimizer state are within 2% of ZeRO's formulas") {
  const double psi = 25e6 * 4; // bytes in fp32; Adam has two more values
  const double n = 4;
  const auto of = [&](const char* strategy) {
    return model_state_bytes(predict(large(), parallel(strategy)));
  };
  CHECK(of("ddp") == Approx(psi + psi + 2 * psi).epsilon(0.02));
  CHECK(of("zero1") == Approx(psi + psi + 2 * psi / n).epsilon(0.02));
  CHECK(of("zero2") == Approx(psi + (psi + 2 * psi) / n).epsilon(0.02));
  CHECK(of("zero3") == Approx((psi + psi + 2 * psi) / n).epsilon(0.02));
}

TEST_CASE("predicted traffic is ZeRO's 2 and 3 times the parameters' bytes") {
  const double share = 25e6 * 4 * 3 / 4; // (N - 1) / N
  const auto of = [&](const char* strategy) {
    return static_cast<double>(predict(large(), parallel(strategy)).sent);
  };
  for (const char* strategy : {"ddp", "zero1", "zero2"})
    CHECK(of(strategy) == Approx(2 * share).epsilon(0.01));
  // One of the 25 units is gathered once for forward and backward.
  CHECK(of("zero3") == Approx(3 * share).epsilon(0.05));
  CHECK(of("zero3") < 3 * share);
}

TEST_CASE("workers that train apart send ddp's traffic of a step once per round") {
  auto config = parallel("local_sgd");
  config.local_sgd.steps = 10;
  const auto ddp = predict(large(), parallel("ddp")).sent;
  CHECK(predict(large(), config).sent == ddp / 10);
  config.local_sgd.momentum = OptimizerAtRound::averaged; // both of Adam's moments
  CHECK(predict(large(), config).sent == 3 * ddp / 10);
}

TEST_CASE("replica groups send their inner strategy's traffic plus one pseudo-gradient per round") {
  auto of_a_replica_group = large();
  of_a_replica_group.world_size = 2;
  const double all = 25e6 * 4, steps = 4;
  const auto in_rounds = [&](const ParallelConfig& config) {
    const auto inner = predict(of_a_replica_group, parallel(to_string(config.diloco.inner))).sent;
    return static_cast<double>(predict(large(), config).sent - inner);
  };
  // One of the two ranks sends all, or each rank its shard, to one other group: half as
  // pseudo-gradients, half as sums.
  CHECK(in_rounds(replica_groups_of_two(StrategyKind::ddp)) == all / 2 / steps);
  CHECK(in_rounds(replica_groups_of_two(StrategyKind::zero3)) == all / 2 / steps);
  // The result is gathered within the replica group.
  for (const auto inner : {StrategyKind::zero1, StrategyKind::zero2})
    CHECK(in_rounds(replica_groups_of_two(inner)) == all / 2 / steps + all / 2 / steps);
  auto config = replica_groups_of_two(StrategyKind::ddp);
  config.diloco.fragments = 5;
  CHECK(in_rounds(config) == all / 2 / steps);
  config.diloco.overlap = 3;
  CHECK(in_rounds(config) == all / 2 / steps);
  for (const auto& [compress, size] :
       {std::pair{Compression::fp16, 2.0}, std::pair{Compression::int8, 1 + 4.0 / 128},
        std::pair{Compression::int4, 0.5 + 4.0 / 128}}) {
    config.diloco.compress = compress;
    CHECK(in_rounds(config) == Approx(all / 4 * size / 2 / steps).epsilon(1e-4));
  }
  config.diloco.group_size = 4; // there is no other group
  of_a_replica_group.world_size = 4;
  CHECK(in_rounds(config) == 0);
}

TEST_CASE("asynchronous workers read each version once, and send gradients of each slice") {
  const double share = 25e6 * 4 * 3 / 4; // (N - 1) / N
  auto needs = large();
  CHECK(static_cast<double>(predict(needs, parallel("async")).sent) ==
        Approx(2 * share).epsilon(0.01));
  needs.passes = 4;
  CHECK(static_cast<double>(predict(needs, parallel("async")).sent) ==
        Approx(5 * share).epsilon(0.01));
}

TEST_CASE("predicted parameters are read once more and take a copy of the shard") {
  auto needs = large();
  needs.passes = 4;
  const auto as_they_are = predict(needs, parallel("async"));
  auto config = parallel("async");
  config.async.prediction = true;
  const auto foreseen = predict(needs, config);
  CHECK(foreseen.sent - as_they_are.sent == 25'000'000ull * 4 * 3 / 4);
  const std::size_t shard = 25'000'000 / 4 * 4;
  for (const auto& [kind, shards] :
       {std::pair{MemoryKind::parameters, 1}, std::pair{MemoryKind::optimizer, 2}})
    CHECK(bytes(foreseen, kind) - bytes(as_they_are, kind) ==
          shard * static_cast<std::size_t>(shards));
}

TEST_CASE("workers of several nodes also send prepare messages, and the first one its statistics") {
  auto needs = large();
  needs.statistic_elements = 1000;
  const auto of_one_node = predict(needs, parallel("ddp")).sent;
  needs.votes = true;
  CHECK(predict(needs, parallel("ddp")).sent == of_one_node + 2 * 3 + 1000);
}

TEST_CASE("with shard replicas a worker sends its shard of the gradients once more") {
  auto needs = large();
  const auto of = [&](const char* strategy, ReplicateShards shard_replicas) {
    auto config = parallel(strategy);
    config.replicate_shards = shard_replicas;
    return predict(needs, config).sent;
  };
  for (const char* strategy : {"zero1", "zero2", "zero3"})
    CHECK(of(strategy, ReplicateShards::automatic) ==
          of(strategy, ReplicateShards::off)); // a single node has no shard replicas
  needs.votes = true;
  for (const char* strategy : {"zero1", "zero2", "zero3"})
    CHECK(of(strategy, ReplicateShards::automatic) ==
          of(strategy, ReplicateShards::off) + 25e6 * 4 / 4);
  for (const char* strategy : {"ddp", "hsdp"})
    CHECK(of(strategy, ReplicateShards::automatic) == of(strategy, ReplicateShards::off));
}

TEST_CASE("frozen parameters are not reduced or published, and are gathered only for forward") {
  auto frozen = large();
  frozen.unit_frozen.assign(25, false);
  std::fill_n(frozen.unit_frozen.begin(), 10, true); // the first units
  frozen.unit_frozen[20] = true;                     // between trained units
  const double unit = 1e6 * 4 * 3 / 4;
  const auto of = [&](const char* strategy) {
    auto by_unit = parallel(strategy);
    by_unit.bucket_size = 1;
    return static_cast<double>(predict(frozen, by_unit).sent);
  };
  for (const char* strategy : {"ddp", "zero1", "zero2"})
    CHECK(of(strategy) == Approx(2 * 14 * unit).epsilon(0.01));
  CHECK(of("zero3") ==
        Approx((25 + 14 + 14) * unit).epsilon(0.01)); // the last bucket stays for backward
}

TEST_CASE("a state takes exactly the predicted memory") {
  const std::string name = GENERATE("ddp", "zero1", "zero2", "zero3", "hsdp", "local_sgd", "async");
  const bool accumulates = GENERATE(false, true), communicates_once = GENERATE(false, true);
  const bool votes = GENERATE(false, true);
  const DType travels_in = GENERATE(DType::f32, DType::bf16);
  const auto offload = GENERATE(OffloadConfig{}, OffloadConfig{OffloadConfig::Target::optimizer, 1},
                                OffloadConfig{OffloadConfig::Target::optimizer, 0.3},
                                OffloadConfig{OffloadConfig::Target::parameters, 1},
                                OffloadConfig{OffloadConfig::Target::parameters, 0.3});
  const auto shard_replicas = GENERATE(ReplicateShards::automatic, ReplicateShards::off);
  CAPTURE(name, accumulates, communicates_once, votes, travels_in, offload.target, offload.ratio,
          shard_replicas);
  auto config = parallel(name);
  config.replicate_shards = shard_replicas;
  if (offload.target == OffloadConfig::Target::parameters && !config.divides_parameters())
    return; // refused by the config
  const bool apart = name == "local_sgd";
  const bool stale = name == "async";
  if ((apart || stale) &&
      (offload.target != OffloadConfig::Target::none || travels_in != DType::f32))
    return; // refused, too
  config.offload = offload;
  config.mixed_precision.reduce = travels_in;
  config.no_sync = communicates_once;
  WorkerNeeds needs{.world_size = 4,
                    .unit_elements = {70, 0, 333, 1000, 5},
                    .unit_names = {"stem", "pool", "a", "b", "head"},
                    .statistic_elements = 12,
                    .optimizer_slots = 2,
                    .passes = accumulates ? 2 : 1,
                    .keeps_statistics = accumulates,
                    .votes = votes,
                    .scales_loss = true};
  StorageLayout layout;
  layout.unit_elements = needs.unit_elements;
  layout.unit_names = needs.unit_names;
  layout.statistic_elements = needs.statistic_elements;
  const auto device = cpu::make_host_device(0, 1);
  const auto state = ModelState::create(
      *device, layout,
      {.optimizer_slots = {"exp_avg", "exp_avg_sq"},
       .accumulate = accumulates && !stale,
       .keeps_statistics = accumulates,
       .commits_statistics = stale || (votes && !apart),
       .loss_scale = LossScaleOptions{},
       .strategy = strategy_of(config, needs.world_size),
       .rank = 1,
       .buckets = wrap_units(config, layout.unit_elements, layout.unit_names),
       .prepares = votes,
       .replica_rank_of = votes && shard_replicas == ReplicateShards::automatic &&
                                  (stale || name.starts_with("zero"))
                              ? std::optional{0}
                              : std::nullopt,
       .keeps_base = votes && apart});
  REQUIRE(state);
  std::vector<StepSum> sums; // of a parameter server shard
  for (int i = 0; stale && i <= config.async.staleness; ++i)
    sums.push_back(*StepSum::create(*device, (*state)->layout().plan(), {}));
  const auto prediction = predict(needs, config);
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    if (stale && static_cast<MemoryKind>(kind) == MemoryKind::communication)
      continue; // the memory of messages varies over time
    INFO(to_string(static_cast<MemoryKind>(kind)));
    CHECK(device->memory().current[kind] == prediction.bytes[kind]);
  }
}

TEST_CASE("the rank that exchanges pseudo-gradients takes exactly the predicted memory") {
  const auto inner = GENERATE(StrategyKind::ddp, StrategyKind::zero1, StrategyKind::zero3);
  const auto compress = GENERATE(Compression::none, Compression::fp16, Compression::int4);
  const std::int64_t overlap = GENERATE(0, 2), fragments = GENERATE(1, 2);
  const bool votes = GENERATE(false, true), frozen = GENERATE(false, true);
  const double momentum = GENERATE(0.0, 0.9);
  CAPTURE(to_string(inner), to_string(compress), overlap, fragments, votes, frozen, momentum);
  auto config = replica_groups_of_two(inner);
  config.bucket_size = 1;
  config.diloco.momentum = momentum;
  config.diloco.fragments = fragments;
  config.diloco.overlap = overlap;
  config.diloco.compress = compress;
  const WorkerNeeds needs{.world_size = 4,
                          .unit_elements = {70, 0, 333, 1000, 5},
                          .unit_names = {"stem", "pool", "a", "b", "head"},
                          .unit_frozen = {false, true, frozen, false, false},
                          .statistic_elements = 12,
                          .optimizer_slots = 2,
                          .passes = 2,
                          .keeps_statistics = true,
                          .votes = votes,
                          .workers_of_node = 4, // the messages of others are in the senders' memory
                          .scales_loss = true,
                          .snapshots = true};
  StorageLayout layout;
  layout.unit_elements = needs.unit_elements;
  layout.unit_names = needs.unit_names;
  layout.statistic_elements = needs.statistic_elements;
  std::vector<nn::ParameterRate> rates;
  for (UnitId unit = 0; unit < std::ssize(needs.unit_elements); ++unit) {
    const auto number = static_cast<std::size_t>(unit);
    const auto elements = needs.unit_elements[number];
    if (elements == 0)
      continue;
    layout.parameters.push_back({needs.unit_names[number],
                                 {static_cast<std::int64_t>(elements)},
                                 unit,
                                 0,
                                 elements,
                                 nullptr});
    rates.push_back(needs.unit_frozen[number] ? 0 : 1);
  }
  const std::shared_ptr<Device> device = cpu::make_host_device(0, 1);
  auto state =
      ModelState::create(*device, layout,
                         {.optimizer_slots = {"exp_avg", "exp_avg_sq"},
                          .accumulate = true,
                          .keeps_statistics = true,
                          .loss_scale = LossScaleOptions{},
                          .strategy = strategy_of(config, needs.world_size),
                          .buckets = wrap_units(config, layout.unit_elements, layout.unit_names),
                          .rates = rates,
                          .snapshots = true,
                          .keeps_base = votes,
                          .outer_momentum = momentum > 0});
  REQUIRE(state);
  const auto rank = speaker(device, *std::move(state));
  const auto& parts = rank.outer->fragments();
  REQUIRE(std::ssize(parts) == fragments);
  // With this overlap, the next fragment is sent before the previous one has returned.
  std::vector<BufferPtr> under_way;
  const auto largest = std::ranges::max_element(parts, {}, &Fragment::elements) - parts.begin();
  for (int fragment = 0; fragment < fragments; ++fragment)
    if (overlap > 0 || fragment == largest)
      std::ranges::move(sent_in_a_round(rank, fragment), std::back_inserter(under_way));
  const auto prediction = predict(needs, config);
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    INFO(to_string(static_cast<MemoryKind>(kind)));
    CHECK(device->memory().current[kind] == prediction.bytes[kind]);
  }
}

TEST_CASE("pseudo-gradients of other nodes take memory, and more if some may be late") {
  auto needs = large();
  needs.votes = true;
  const std::size_t chunk = 25'000'000 * 4 / 2; // bytes; one of two groups owns it
  auto config = replica_groups_of_two(StrategyKind::ddp);
  const auto message = [&](int workers_of_node) {
    needs.workers_of_node = workers_of_node;
    return bytes(predict(needs, config), MemoryKind::communication);
  };
  const auto alone = message(4);
  CHECK(message(2) == alone + 2 * chunk); // a pseudo-gradient and a sum
  CHECK(message(1) == message(2));        // a group sends no message to itself
  config.diloco.quorum = 1;
  // Pseudo-gradients of the group, until the next round uses them, and sums for as many rounds as a
  // group may be ahead.
  CHECK(message(4) == alone + (2 + 4) * chunk);
  const auto most = message(2);
  CHECK(most == alone + 2 * chunk + (3 + 4 * 2) * chunk);
  needs.host_capacity = SIZE_MAX;
  const auto on_gpu = predict(needs, config);
  CHECK(on_gpu.pinned() == (5 + 11) * chunk);
  CHECK(bytes(on_gpu, MemoryKind::communication) + on_gpu.pinned() == most);
}

TEST_CASE("diloco is compared if the config's replica groups divide the workers") {
  auto config = parallel("ddp");
  config.mixed_precision = {
      .parameters = DType::bf16, .reduce = DType::bf16, .buffers = DType::bf16};
  const auto found = [&] {
    std::vector<ParallelConfig> found;
    std::ranges::copy_if(alternatives(large(), config), std::back_inserter(found),
                         &ParallelConfig::has_replica_groups);
    return found;
  };
  config.diloco.group_size = 3;
  CHECK(found().empty());
  config.diloco.group_size = 2;
  REQUIRE(found().size() == 1);
  const auto& precision = found().front().mixed_precision;
  CHECK(precision.reduce == DType::bf16); // within a replica group
  CHECK(precision.parameters == DType::f32);
  CHECK(precision.buffers == DType::f32);
  config.diloco.inner = StrategyKind::zero3;
  CHECK(found().front().mixed_precision.parameters == DType::bf16);
}

TEST_CASE("the recommendation is the cheapest strategy that fits") {
  struct Case {
    std::vector<bool> fit; // ddp, zero1, zero2, zero3, fsdp_offload
    std::string strategy;
  };
  const auto& [fit, strategy] = GENERATE(Case{{true, true, true, true, true}, "ddp"},
                                         Case{{false, true, true, true, true}, "zero1"},
                                         Case{{false, false, true, true, true}, "zero2"},
                                         Case{{false, false, false, true, true}, "zero3"},
                                         Case{{false, false, false, false, true}, "fsdp_offload"},
                                         Case{{false, false, false, false, false}, ""});
  auto offloaded = option("fsdp", fit[4]);
  offloaded.offloads = true;
  const auto recommendation =
      recommend(std::vector{option("dp", true), option("ddp", fit[0]), option("zero1", fit[1]),
                            option("zero2", fit[2]), option("zero3", fit[3]), offloaded});
  CHECK(recommendation.strategy == strategy);
  CHECK_FALSE(recommendation.reason.empty());
  CHECK(recommend(std::vector{option("single", true)}).strategy == "single");
}

TEST_CASE("if nothing fits, the reason tells whether activations are the cause") {
  auto needs = large();
  needs.capacity = 1 << 20;
  const auto reason = [&] { return recommend(all_of(needs)).reason; };
  CHECK(reason().find("use more workers, which divide it further") != std::string::npos);
  needs.undivided[static_cast<std::size_t>(MemoryKind::activations)] = std::size_t{1} << 40;
  CHECK(reason().find("train.recompute") != std::string::npos);
}

TEST_CASE("a state that does not fit on devices is offloaded if the host has room") {
  auto needs = large();
  needs.capacity = std::size_t{80} << 20; // zero3 needs 100 MB plus a window
  const auto choice = [&] { return recommend(all_of(needs)).strategy; };
  CHECK(choice().empty()); // the devices of a host share its memory
  needs.host_capacity = std::size_t{64} << 30;
  CHECK(choice() == "fsdp_offload");
  needs.host_capacity = 1 << 20;
  CHECK(choice().empty());
}

TEST_CASE("offloading moves the bytes of the ratio from the device to the host and costs time") {
  auto config = parallel("zero3");
  const auto without = predict(large(), config);
  const double shard = 25e6 * 4 / 4; // bytes of one value per parameter of a shard
  const double ratio = GENERATE(0.25, 0.5, 1.0);
  config.offload = {OffloadConfig::Target::optimizer, ratio};
  const auto optimizer = predict(large(), config);
  CHECK(optimizer.name() == "zero3_offload");
  const auto saved = [&](const Prediction& with) {
    return static_cast<double>(without.total()) - static_cast<double>(with.total());
  };
  CHECK(saved(optimizer) == Approx(2 * shard * ratio).epsilon(0.001));
  // Adam's two values, the parameters and their gradients.
  CHECK(static_cast<double>(optimizer.pinned()) == Approx(4 * shard * ratio).epsilon(0.001));
  config.offload.target = OffloadConfig::Target::parameters;
  const auto parameters = predict(large(), config);
  CHECK(saved(parameters) == Approx(3 * shard * ratio).epsilon(0.001));
  CHECK(parameters.pinned() == optimizer.pinned());
}
