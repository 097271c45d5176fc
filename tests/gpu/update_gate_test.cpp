// Tests that work after a failed wait for the host, or after a step without the votes of all ranks,
// changes no training state, although it was enqueued before (gpu/kernels/update_gate.hpp).
#include "core/fail.hpp"
#include "cpu/host_stream.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/kernels/batch_norm.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <thread>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

using HostEventPtr = std::shared_ptr<cpu::HostEvent>;

HostEventPtr host_event() {
  return std::make_shared<cpu::HostEvent>();
}

Status lost() {
  return fail(Errc::collective, "a rank was lost");
}

constexpr std::size_t elements = 10;
const OptimizerArguments plain_sgd, momentum_sgd{.momentum = 0.9f},
    adam{.kind = OptimizerKind::adam};

/// The state that an optimizer changes, and a copy of the gradients.
struct Trained {
  float *parameters, *gradients, *state0, *state1, *kept;
  LossScaleState* scaler;
  std::int64_t* steps;
};

struct UpdateGates : GpuFixture {
  std::unique_ptr<Stream> make_stream() { return device().create_stream({.name = "test"}); }

  /// Returns state at `skew` elements from aligned addresses, where the kernels for single elements
  /// run.
  Trained trained(std::size_t skew = 0) {
    const auto values = [&](const Floats& from) {
      return static_cast<float*>(upload(from, DType::f32, skew));
    };
    auto* const scaler = static_cast<LossScaleState*>(room(16));
    const LossScaleState state{.scale = 2, .taken = 4};
    device().copy(stream(), scaler, &state, sizeof state);
    auto* const steps = static_cast<std::int64_t*>(room(sizeof(std::int64_t)));
    device().zero(stream(), reinterpret_cast<float*>(steps), sizeof *steps);
    REQUIRE(stream().synchronize());
    return {values(normal_values(elements, 1)),
            values(normal_values(elements, 2)),
            values(normal_values(elements, 3)),
            values(Floats(elements, 0.5f)),
            values(Floats(elements)),
            scaler,
            steps};
  }

  void step(Stream& on, const Trained& t, const OptimizerArguments& arguments) {
    device().optimizer_step(on, arguments,
                            {t.parameters, t.gradients, t.state0, t.state1, elements}, nullptr,
                            t.scaler);
  }

  /// Enqueues a step of every optimizer and the end of a step.
  void train(Stream& on, const Trained& t) {
    for (const auto& arguments : {plain_sgd, momentum_sgd, adam})
      step(on, t, arguments);
    device().update_loss_scale(on, {}, t.scaler);
    device().count_update(on, t.steps);
    constexpr std::size_t packed = 8; // the rest is copied in single words
    device().keep(on, t.kept, t.gradients, packed * sizeof(float));
    device().keep(on, t.kept + packed, t.gradients + packed, (elements - packed) * sizeof(float));
  }

  struct State {
    std::array<Floats, 4> values;
    LossScaleState scaler;
    std::int64_t steps = 0;
    bool operator==(const State&) const = default;
  };
  State state_of(const Trained& t) {
    State state{{download(t.parameters, elements), download(t.state0, elements),
                 download(t.state1, elements), download(t.kept, elements)}};
    device().copy(stream(), &state.scaler, t.scaler, sizeof state.scaler);
    device().copy(stream(), &state.steps, t.steps, sizeof state.steps);
    REQUIRE(stream().synchronize());
    return state;
  }

  /// Waits until the stream has noticed its failure.
  static void await_failure(Stream& on) {
    while (!cuda_stream(on).failed())
      std::this_thread::yield();
  }
};

} // namespace

TEST_CASE_METHOD(UpdateGates, "nothing is updated after a failed wait for the host") {
  for (const std::size_t skew : {0, 1}) {
    const auto t = trained(skew);
    const auto before = state_of(t);
    const auto on = make_stream();
    const auto event = host_event();
    on->wait(event);
    train(*on, t);
    event->reach(lost());
    const auto outcome = on->synchronize();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().message == "a rank was lost");
    CHECK(state_of(t) == before);
  }
}

TEST_CASE_METHOD(UpdateGates, "everything is updated after a successful wait for the host") {
  const auto behind = trained(), beside = trained();
  const auto on = make_stream();
  const auto event = host_event();
  on->wait(event);
  train(*on, behind);
  event->reach({});
  REQUIRE(on->synchronize());
  train(stream(), beside);
  CHECK(state_of(behind) == state_of(beside));
  CHECK(state_of(behind).values.back() == download(behind.gradients, elements));
}

TEST_CASE_METHOD(UpdateGates, "updates happen only with the prepare messages of all ranks") {
  for (const std::size_t skew : {0, 1}) {
    const auto t = trained(skew), beside = trained(skew);
    const auto before = state_of(t);
    auto* const votes = static_cast<float*>(upload(Floats{1}, DType::f32));
    const auto on = make_stream();
    device().gate_updates(*on, votes, 2);
    train(*on, t);
    REQUIRE(on->synchronize());
    CHECK(state_of(t) == before);
    // The second rank's vote arrives after the enqueued work.
    const float both = 2;
    device().copy(*on, votes, &both, sizeof both);
    train(*on, t);
    REQUIRE(on->synchronize());
    train(stream(), beside);
    CHECK(state_of(t) == state_of(beside));
  }
}

TEST_CASE_METHOD(UpdateGates, "a step enqueued before a failed wait runs") {
  const auto t = trained(), once = trained();
  const auto on = make_stream();
  const auto start = host_event(), failing = host_event();
  on->wait(start);
  step(*on, t, momentum_sgd);
  on->wait(failing);
  step(*on, t, momentum_sgd);
  failing->reach(lost());
  await_failure(*on);
  start->reach({});
  REQUIRE_FALSE(on->synchronize());
  step(stream(), once, momentum_sgd);
  CHECK(state_of(t) == state_of(once));
}

TEST_CASE_METHOD(UpdateGates, "the first of several failed waits closes the gate") {
  const auto t = trained();
  const auto before = state_of(t);
  const auto on = make_stream();
  const auto first = host_event(), second = host_event();
  on->wait(first);
  train(*on, t);
  on->wait(second);
  second->reach(lost());
  await_failure(*on);
  first->reach(lost());
  REQUIRE_FALSE(on->synchronize());
  CHECK(state_of(t) == before);
}

TEST_CASE_METHOD(UpdateGates, "streams that wait for a waiting stream are gated with it") {
  const auto t = trained(), u = trained(), free = trained();
  const auto before = state_of(t);
  const auto waits = make_stream(), second = make_stream(), third = make_stream();
  const auto event = host_event();
  second->wait(waits->record()); // recorded before the wait: has no effect
  train(*second, free);
  waits->wait(event);
  second->wait(waits->record());
  train(*second, t);
  third->wait(second->record());
  train(*third, u);
  event->reach(lost());
  for (auto* const behind : {second.get(), third.get()}) {
    const auto outcome = behind->synchronize();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().message == "a rank was lost");
  }
  CHECK(state_of(t) == before);
  CHECK(state_of(u) == before);
  const auto beside = trained();
  train(stream(), beside);
  CHECK(state_of(free) == state_of(beside));
}

TEST_CASE_METHOD(UpdateGates, "other streams and streams created later continue") {
  const auto t = trained(), u = trained();
  const auto failing = make_stream(), other = make_stream();
  const auto lost_rank = host_event();
  failing->wait(lost_rank);
  lost_rank->reach(lost());
  REQUIRE_FALSE(failing->synchronize());
  const auto later = make_stream();
  const auto good = host_event();
  for (auto* const on : {other.get(), later.get()})
    on->wait(good);
  train(*other, t);
  train(*later, u);
  good->reach({});
  REQUIRE(other->synchronize());
  REQUIRE(later->synchronize());
  const auto beside = trained();
  train(stream(), beside);
  CHECK(state_of(t) == state_of(beside));
  CHECK(state_of(u) == state_of(beside));
}

TEST_CASE_METHOD(UpdateGates, "a wait for an event of a failed stream fails as well") {
  const auto t = trained();
  const auto before = state_of(t);
  const auto waits = make_stream(), late = make_stream();
  const auto event = host_event();
  waits->wait(event);
  const auto recorded = waits->record();
  event->reach(lost());
  await_failure(*waits);
  late->wait(recorded);
  train(*late, t);
  REQUIRE_FALSE(late->synchronize());
  CHECK(state_of(t) == before);
}

TEST_CASE_METHOD(UpdateGates, "a host stream receives the failure") {
  const auto waits = make_stream();
  const auto event = host_event();
  cpu::HostStream host{{.name = "test"}};
  bool ran = false;
  waits->wait(event);
  host.wait(waits->record());
  host.enqueue([&]() -> Status {
    ran = true;
    return {};
  });
  event->reach(lost());
  const auto outcome = host.synchronize();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message == "a rank was lost");
  CHECK_FALSE(ran);
}

TEST_CASE_METHOD(UpdateGates, "a graph uses the gate of the stream that captured it") {
  const auto t = trained();
  const auto on = make_stream();
  REQUIRE(CudaGraph::begin_capture(cuda_stream(*on)));
  train(*on, t);
  const auto graph = CudaGraph::end_capture(cuda_stream(*on));
  REQUIRE(graph);
  graph->launch(cuda_stream(*on));
  REQUIRE(on->synchronize());
  const auto beside = trained();
  train(stream(), beside);
  const auto after = state_of(t);
  REQUIRE(after == state_of(beside));
  const auto event = host_event();
  on->wait(event);
  graph->launch(cuda_stream(*on));
  event->reach(lost());
  REQUIRE_FALSE(on->synchronize());
  CHECK(state_of(t) == after);
}

TEST_CASE_METHOD(UpdateGates,
                 "work after an unfinished wait updates nothing when its stream is destroyed") {
  const auto t = trained();
  const auto before = state_of(t);
  Status heard;
  {
    const auto on = make_stream();
    on->wait(host_event());
    train(*on, t);
    on->on_complete([&](Status status) { heard = std::move(status); });
  }
  REQUIRE_FALSE(heard);
  CHECK(heard.error().code == Errc::stopped);
  CHECK(state_of(t) == before);
}

TEST_CASE_METHOD(UpdateGates, "missing sums of other ranks do not reach the running statistics") {
  auto *const mean = floats({1, 2}), *const variance = floats({3, 4});
  auto* const sums = static_cast<double*>(room(10));
  auto *const saved_mean = float_room(2), *const saved_inv_std = float_room(2);
  const auto finalize = [&](Stream& on) {
    auto& cuda = cuda_stream(on);
    cuda.enqueue("finalize", [&](cudaStream_t raw) {
      launch_batch_norm_finalize(raw, 2, sums,
                                 {.saved_mean = saved_mean,
                                  .saved_inv_std = saved_inv_std,
                                  .running_mean = mean,
                                  .running_variance = variance,
                                  .eps = 1e-5f,
                                  .momentum = 0.1f},
                                 cuda.update_gate());
    });
  };
  finalize(stream());
  const auto first_mean = download(mean, 2), first_variance = download(variance, 2);
  CHECK(first_mean != Floats{1, 2});
  const auto on = make_stream();
  const auto event = host_event();
  on->wait(event);
  finalize(*on);
  event->reach(lost());
  REQUIRE_FALSE(on->synchronize());
  CHECK(download(mean, 2) == first_mean);
  CHECK(download(variance, 2) == first_variance);
}
