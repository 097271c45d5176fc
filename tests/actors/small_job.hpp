/// A job whose steps take almost no time, and the blocking work of the node that trains it.
#pragma once

#include "actors/node/node_work.hpp"
#include "core/config/config.hpp"
#include "data/image_dataset.hpp"
#include "tests/actors/stub_roles.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"
#include "training/node_assignment.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe::actors::test {

/// Config of a narrow ResNet of several units with four steps an epoch; the job writes no files and
/// evaluates nothing.
inline Config small_job() {
  Config config;
  config.model.name = "resnet20";
  config.model.stem = Stem::cifar;
  config.model.width = 4;
  config.data.dataset = "synthetic";
  config.data.limit = 64;
  config.data.image_size = 8;
  config.data.batch_size = 16;
  config.parallel.bucket_size = 64 << 10;
  config.devices.count = 1;
  config.devices.threads_per_worker = 1;
  config.run.deterministic = true;
  config.run.output = "no-such-folder";
  config.train.evaluate_every = 0;
  config.checkpoint.every = {};
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  return config;
}

/// Compiles a job that starts from step 0, for `slices` slices of a global batch.
inline std::shared_ptr<training::CompiledJob> compile_job(const Config& config,
                                                          std::int64_t slices) {
  return training::compile_job(training::open_job(config, {}).value(), slices, {}).value();
}

// Labels of samples and of batches: only these functions depend on the type of the data set.

inline std::int32_t label_of(const data::Dataset& dataset, std::int64_t sample) {
  return dynamic_cast<const data::ImageDataset&>(dataset).label(sample);
}

/// Returns the labels of a filled micro-batch in host memory.
inline std::vector<std::int32_t> labels_of(const training::MicroBatch& batch) {
  const auto labels = std::ranges::find(batch.view, "labels", &BatchTensor::name);
  const auto* const first = static_cast<const std::int32_t*>(labels->data);
  return {first, first + batch.samples};
}

inline BuiltGenerationPtr built_generation(const std::shared_ptr<training::Generation>& generation,
                                           const metrics_actor& metrics) {
  return std::make_shared<const BuiltGeneration>(
      BuiltGeneration{.generation = generation, .info = generation->info(), .metrics = metrics});
}

/// Work that a test need not replace.
struct StubWork : NodeWork {
  void halt(RunViewPtr) override {}
  void release(bool) override {}
  void note_voters(const training::GenerationRecord&) override {}
};

/// Builds one generation with all ranks in this process; returns its state to the compiled job on
/// release. `before` may inspect or modify the generation before NODE receives it.
struct SmallWork : StubWork {
  SmallWork(
      std::shared_ptr<training::CompiledJob> job, training::NodeAssignment in, metrics_actor shown,
      std::function<void(training::Generation&)> tamper = [](training::Generation&) {})
      : compiled_job{std::move(job)},
        assignment{std::move(in)}, metrics{std::move(shown)}, before{std::move(tamper)} {}

  Result<BuiltGenerationPtr> build() override {
    auto built = training::build_generation(compiled_job, assignment);
    if (!built)
      return failure(built.error());
    generation = std::move(*built);
    before(*generation);
    return built_generation(generation, metrics);
  }
  void release(bool) override {
    std::ignore = training::return_state(*generation, compiled_job->job->plan.total_steps());
    generation.reset();
  }

  std::shared_ptr<training::CompiledJob> compiled_job;
  training::NodeAssignment assignment;
  metrics_actor metrics;
  std::function<void(training::Generation&)> before;
  std::shared_ptr<training::Generation> generation;
};

} // namespace troupe::actors::test
