#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::training {

namespace {

Config two_workers() {
  Config config;
  config.model.name = "resnet20";
  config.data.dataset = "synthetic";
  config.data.limit = 32;
  config.data.image_size = 8;
  config.data.batch_size = 8;
  config.devices.kind = DeviceKind::cpu;
  config.devices.count = 2;
  config.devices.threads_per_worker = 1;
  config.parallel.strategy = StrategyKind::ddp;
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  config.run.output = "no-such-folder";
  return config;
}

Result<std::shared_ptr<CompiledJob>> prepared(const Config& config,
                                              const Preparing& preparing = {}) {
  return compile_job(open_job(config, {}).value(), config.devices.count, {}, preparing);
}

/// Forwards calls to other devices, and records those that create or separate streams.
class RecordedDevices final : public PlatformDevices {
public:
  RecordedDevices(std::shared_ptr<PlatformDevices> devices, std::vector<std::string>& calls)
      : devices_{std::move(devices)}, calls_{calls} {}

  Result<std::shared_ptr<Device>> add() override { return devices_->add(); }
  Result<EngineOptions> engine_options(int worker) override {
    return devices_->engine_options(worker);
  }
  Result<double> peak_operations(int worker, Precision precision) override {
    return devices_->peak_operations(worker, precision);
  }
  nn::InputFormat preferred_input(bool augments) const override {
    return devices_->preferred_input(augments);
  }
  Result<std::shared_ptr<BatchProducer>> make_producer(int worker,
                                                       ProducerOptions options) override {
    calls_.emplace_back("make_producer");
    return devices_->make_producer(worker, std::move(options));
  }
  Result<Communicators> make_group(std::span<const GroupMember> members,
                                   const GroupPlace& place) override {
    calls_.emplace_back("make_group");
    return devices_->make_group(members, place);
  }
  void separate_streams() override { calls_.emplace_back("separate_streams"); }

private:
  std::shared_ptr<PlatformDevices> devices_;
  std::vector<std::string>& calls_;
};

} // namespace

TEST_CASE("compiling a job is cancelled between devices") {
  int asked = 0;
  const auto compiled_job = prepared(two_workers(), {.cancelled = [&] { return ++asked == 2; }});
  REQUIRE_FALSE(compiled_job);
  CHECK(compiled_job.error().code == Errc::stopped);
  CHECK(asked == 2);
}

TEST_CASE("operations are those of the model's products, for any number of ranks and with "
          "recomputation") {
  auto config = two_workers();
  config.model.name = "mlp";
  config.model.hidden = {16};
  const auto generation =
      build_generation(prepared(config).value(), single_node_assignment(2, "here")).value();
  // Forward, x W for 8 images; backward, the gradient of W, and for the second layer also the
  // gradient of its input.
  const double inputs = 3 * 8 * 8, outputs = 10;
  const double expected = 2 * 8 * (2 * inputs * 16 + 3 * 16 * outputs);
  CHECK(generation->info().operations_per_step == expected);
  REQUIRE(return_state(*generation, 0));

  config = two_workers();
  const auto plain = prepared(config).value()->operations;
  config.train.recompute.kind = RecomputeConfig::Kind::block;
  const auto again = prepared(config).value();
  REQUIRE(again->recompute);
  CHECK(again->recompute->operations_ratio > 0.1);
  CHECK(again->operations == Catch::Approx(plain));
}

TEST_CASE("workers on the host share the peak of its processors") {
  const auto compiled_job = prepared(two_workers()).value();
  const auto peak = [&](int worker) {
    return compiled_job->devices->peak_operations(worker, Precision::fp32).value();
  };
  const auto first = peak(0);
  CHECK(first > 0);
  CHECK(peak(1) == first); // measured once
  auto stream = compiled_job->compiled[0]->device->create_stream({.name = "compute", .threads = 1});
  double again = 0;
  compiled_job->devices->measure_peak(0, Precision::fp32, *stream,
                                      [&](double most) { again = most; });
  REQUIRE(stream->synchronize());
  CHECK(again >= first); // the largest measurement is kept
  CHECK(peak(1) == again);
}

TEST_CASE("a compiled job starts with the state of step 0 or of the checkpoint") {
  const auto config = two_workers();
  const auto fresh = prepared(config).value();
  REQUIRE(fresh->state);
  CHECK(fresh->state->header().step == 0);
  REQUIRE(return_state(*build_generation(fresh, single_node_assignment(2, "here")).value(), 3));
  const auto resumed = compile_job(open_job(config, {}).value(), 2, fresh->state).value();
  CHECK(resumed->state->header().step == 3);
  CHECK(build_generation(resumed, single_node_assignment(2, "here")).value()->first_step == 3);
}

TEST_CASE("test batches are divided among the ranks of a generation") {
  auto config = two_workers();
  config.data.eval_batch_size = 4;
  const auto compiled_job = prepared(config).value();
  const auto size = compiled_job->job->evaluation->dataset().size();
  for (const std::int32_t ranks : {2, 1}) {
    const auto generation =
        build_generation(compiled_job, single_node_assignment(ranks, "here")).value();
    CHECK(generation->slice_assignment.passes() == 2 / ranks);
    CHECK(generation->evaluation->sampler().steps_per_epoch() ==
          (size + 4 * ranks - 1) / (4 * ranks));
    REQUIRE(return_state(*generation, 0));
  }
}

TEST_CASE("a generation separates its streams once, after creating all of them") {
  std::vector<std::string> calls;
  const auto compiled_job = prepared(two_workers()).value();
  compiled_job->devices = std::make_shared<RecordedDevices>(compiled_job->devices, calls);
  REQUIRE(build_generation(compiled_job, single_node_assignment(2, "here")));
  CHECK(std::ranges::count(calls, "make_producer") > 0);
  CHECK(std::ranges::count(calls, "make_group") > 0);
  CHECK(std::ranges::count(calls, "separate_streams") == 1);
  CHECK(calls.back() == "separate_streams");
}

TEST_CASE("an assignment of more workers than the host has devices is refused") {
  const auto compiled_job = prepared(two_workers()).value();
  compiled_job->slices = 4;
  const auto generation = build_generation(compiled_job, single_node_assignment(4, "here"));
  REQUIRE_FALSE(generation);
  CHECK(generation.error().code == Errc::invalid_input);
  CHECK(compiled_job->state);
}

} // namespace troupe::training
