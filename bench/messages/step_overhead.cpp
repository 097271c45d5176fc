// Cost of the node runtime: the same training step called in a plain loop and run by the actors, in
// turn. Device, graph, data and optimizer are the same; the difference is messages, events and
// reports.
//
//   bench_step_overhead [rounds] [steps]
#include "actors/node_runtime.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace {

using namespace troupe;
using Clock = std::chrono::steady_clock;

Config resnet20(const std::filesystem::path& output, std::int64_t steps) {
  Config config;
  config.run.name = "step-overhead";
  config.run.output = output.string();
  config.model.name = "resnet20";
  config.data.dataset = "synthetic";
  config.data.limit = 1024;
  config.data.augment = {Augmentation::crop, Augmentation::flip};
  config.train.epochs = 1 << 20;
  config.train.max_steps = steps;
  config.train.evaluate_every = 0;
  config.checkpoint.every = {};
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  config.metrics.listen = "off";
  return config;
}

double samples_per_second(std::int64_t samples, Clock::time_point begin) {
  return static_cast<double>(samples) / std::chrono::duration<double>(Clock::now() - begin).count();
}

/// One thread calls everything in order; the next batch is filled while the device works.
Result<double> plain_loop(const Config& config, std::int64_t steps) {
  const auto built = training::build_single_node_generation(config);
  if (!built)
    return failure(built.error());
  const auto& generation = **built;
  const auto& job = generation.job();
  const auto& rank_state = *generation.rank_states.front();
  auto& stream = *rank_state.compute;
  auto& state = *rank_state.state;
  const auto units = static_cast<UnitId>(state.layout().storage().unit_elements.size());
  StepOutputs outputs;
  auto& producer = *rank_state.producers[training::index_of(training::PassMode::training)];
  const auto fill = [&](std::int64_t step) {
    return producer.fill(static_cast<std::int32_t>(step % 2), producer.sampler().position(step), {},
                         [](const Error&) {});
  };
  auto filling = fill(0);
  Clock::time_point begin;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == 2) // warmed up
      begin = Clock::now();
    stream.wait(filling.ready);
    if (auto set = rank_state.train().set_batch(filling.view); !set)
      return failure(set.error());
    filling = fill(step + 1);
    for (UnitId unit = 0; unit < units; ++unit)
      rank_state.train().refresh(stream, unit);
    rank_state.train().run(stream);
    rank_state.train().read_outputs(stream, &outputs);
    for (const auto& piece : state.buffers().part().chunks())
      rank_state.device().optimizer_step(stream, job.optimizer(step), piece, nullptr, nullptr);
    if (auto done = stream.synchronize(); !done)
      return failure(done.error());
  }
  return samples_per_second((steps - 2) * config.data.batch_size, begin);
}

Result<double> runtime(const Config& config) {
  const auto summary = actors::run_training(config, {.quiet = true});
  if (!summary)
    return failure(summary.error());
  return summary->samples_per_second;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::int64_t steps = argc > 2 ? std::atoll(argv[2]) : 40;
  const auto output =
      std::filesystem::temp_directory_path() /
      fmt::format("troupe-step-overhead-{}", Clock::now().time_since_epoch().count());
  const auto config = resnet20(output, steps);
  std::vector<double> loop, actors;
  for (int round = 0; round < rounds; ++round) {
    const auto a = plain_loop(config, steps), b = runtime(config);
    if (!a || !b) {
      fmt::print(stderr, "{}\n", (a ? b.error() : a.error()).to_string());
      return 1;
    }
    loop.push_back(*a);
    actors.push_back(*b);
    fmt::print("round {}: plain loop {:.1f} images/s, runtime {:.1f} images/s\n", round, *a, *b);
  }
  fmt::print("medians: plain loop {:.1f}, runtime {:.1f} images/s; the runtime costs {:.2f}%\n",
             median(loop), median(actors), 100 * (median(loop) / median(actors) - 1));
  std::filesystem::remove_all(output);
}
