// Time of one training step on the host device: forward, backward and SGD with momentum on one
// fixed random batch. The peer is bench/peers/cpu_train_step.py. `troupe train --profile` shows
// where the time goes.
#include "core/config/config.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "cpu/host_device.hpp"
#include "nn/compile.hpp"
#include "nn/initialize.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <vector>

using namespace troupe;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  std::string model = "resnet20", precision = "fp32", recompute = "none";
  std::int64_t batch = 128, size = 32;
  std::int64_t sequence = 0, vocabulary = 50257; ///< of language models; sequence 0: images
  int threads = 2, warmup = 3, least_steps = 5, most_steps = 60;
  double seconds = 4;
  bool on_demand = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.to_string());
  std::exit(error.exit_code());
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result)
    give_up(result.error());
  return std::move(*result);
}

/// Processor time of all threads, in seconds.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Peak resident memory, in MiB.
double peak_rss() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stod(line.substr(6)) / 1024;
  return 0;
}

Config config_of(const Options& options) {
  Config config;
  config.model.name = options.model;
  config.model.stem = options.size > 64 ? Stem::imagenet : Stem::cifar;
  config.model.num_classes = options.size > 64 ? 1000 : 10;
  config.data.image_size = options.size;
  if (options.sequence > 0) {
    config.data.dataset = "text";
    config.data.sequence_length = options.sequence;
    config.model.positions = options.sequence;
    config.model.vocabulary = options.vocabulary;
  }
  config.precision.mode = options.precision == "bf16" ? Precision::amp_bf16 : Precision::fp32;
  if (const auto size = parse_size(options.recompute))
    config.train.recompute = {.kind = RecomputeConfig::Kind::fit, .fit_bytes = *size};
  else if (options.recompute == "block")
    config.train.recompute = {.kind = RecomputeConfig::Kind::block};
  return config;
}

/// A model on one device. Its step is a plain loop.
class Trainer {
public:
  explicit Trainer(const Options& options) : options_{options} {
    const nn::PassOptions passes{.fuse = nn::FusePatterns::all(), .memory = host_plan()};
    auto model = value_or_give_up(
        nn::prepare_model(config_of(options), options.batch, nn::PassMode::training, passes));
    executable_ = value_or_give_up(
        device_->compile(model.graph, {.threads = options.threads, .memory = model.memory}));
    stream_ = device_->create_stream({"compute", options.threads});
    arena_bytes_ = model.memory.arena_bytes;
    allocate();
    initialize(model.graph);
    set_batch();
  }

  double step() {
    const auto start = Clock::now();
    const auto units = static_cast<UnitId>(parameters_.size());
    for (UnitId unit = 0; unit < units; ++unit)
      executable_->forward(*stream_, unit);
    for (UnitId unit = units - 1; unit >= 0; --unit) {
      executable_->backward(*stream_, unit);
      optimize(unit);
      executable_->refresh(*stream_, unit);
    }
    executable_->read_outputs(*stream_, &outputs_);
    if (const auto status = stream_->synchronize(); !status)
      give_up(status.error());
    ++steps_;
    return seconds_since(start);
  }

  float loss() const { return outputs_["loss"]; }
  double arena_mib() const { return static_cast<double>(arena_bytes_) / (1 << 20); }
  double memory_mib() const {
    return static_cast<double>(device_->memory().total_peak) / (1 << 20);
  }

private:
  static nn::PlanOptions host_plan() {
    nn::PlanOptions plan;
    plan.also_in_place.push_back(Op::batch_norm_backward);
    return plan;
  }

  void allocate() {
    const auto buffer = [&](std::size_t elements, MemoryKind kind) {
      return value_or_give_up(device_->allocate(elements * sizeof(float), kind));
    };
    const auto& layout = executable_->layout();
    for (const auto elements : layout.unit_elements) {
      parameters_.push_back(buffer(elements, MemoryKind::parameters));
      gradients_.push_back(buffer(elements, MemoryKind::gradients));
      momenta_.push_back(buffer(elements, MemoryKind::optimizer));
    }
    statistics_ = buffer(layout.statistic_elements, MemoryKind::parameters);
  }

  void initialize(const Graph& graph) {
    const auto& layout = executable_->layout();
    const auto store = [&](const Slot& slot, float* flat) {
      const auto [name, shape, values] =
          value_or_give_up(nn::initial_value(graph[*graph.find(slot.name)], 1));
      if (slot.codec)
        slot.codec->encode(values, {flat + slot.offset, slot.elements});
      else
        std::ranges::copy(values, flat + slot.offset);
    };
    for (const auto& slot : layout.parameters)
      store(slot, parameters_[static_cast<std::size_t>(slot.unit)]->floats());
    for (const auto& slot : layout.statistics)
      store(slot, statistics_->floats());
    for (std::size_t unit = 0; unit < parameters_.size(); ++unit) {
      executable_->bind(static_cast<UnitId>(unit), parameters_[unit]->floats(),
                        gradients_[unit]->floats());
      executable_->refresh(*stream_, static_cast<UnitId>(unit));
    }
    executable_->bind_statistics(statistics_->floats());
  }

  /// Sets a batch of random images or tokens.
  void set_batch() {
    CounterRng random{7, 0};
    const auto is_text = options_.sequence > 0;
    const auto labels = options_.batch * std::max<std::int64_t>(options_.sequence, 1);
    const auto classes = is_text ? options_.vocabulary : options_.size > 64 ? 1000 : 10;
    for (auto* const ids : {&tokens_, &labels_}) {
      ids->resize(static_cast<std::size_t>(labels));
      for (auto& id : *ids)
        id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes)));
    }
    images_.resize(static_cast<std::size_t>(options_.batch * options_.size * options_.size * 3));
    for (auto& value : images_)
      value = random.normal();
    const void* const read = is_text ? static_cast<const void*>(tokens_.data()) : images_.data();
    if (const auto set =
            executable_->set_batch(at_addresses(executable_->batch(), {read, labels_.data()}));
        !set)
      give_up(set.error());
  }

  void optimize(UnitId unit) {
    const auto i = static_cast<std::size_t>(unit);
    device_->optimizer_step(
        *stream_, {.lr = 0.01f, .momentum = 0.9f, .step = static_cast<std::int64_t>(steps_ + 1)},
        {parameters_[i]->floats(), gradients_[i]->floats(), momenta_[i]->floats(), nullptr,
         executable_->layout().unit_elements[i]},
        nullptr, nullptr);
  }

  Options options_;
  std::unique_ptr<cpu::HostDevice> device_ = cpu::make_host_device(0, options_.threads);
  std::unique_ptr<Executable> executable_;
  std::vector<BufferPtr> parameters_, gradients_, momenta_;
  BufferPtr statistics_;
  std::vector<float> images_;
  std::vector<std::int32_t> tokens_, labels_;
  StepOutputs outputs_;
  std::size_t arena_bytes_ = 0, steps_ = 0;
  std::unique_ptr<Stream> stream_; ///< last: destroyed before what its work uses
};

/// For bench/cpu/contended: each input line is a number of seconds to train for; each output line
/// is the steps per second.
void train_on_demand(Trainer& trainer) {
  for (double seconds = 0; std::cin >> seconds;) {
    const auto start = Clock::now();
    int steps = 0;
    for (; seconds_since(start) < seconds; ++steps)
      trainer.step();
    fmt::print("{:.6f}\n", steps / seconds_since(start));
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times one training step on the host device"};
  app.add_option("--model", options.model, "as in a config");
  app.add_option("--sequence", options.sequence, "tokens per sample of a language model");
  app.add_option("--vocabulary", options.vocabulary, "vocabulary size of a language model");
  app.add_option("--precision", options.precision, "fp32 or bf16");
  app.add_option("--recompute", options.recompute, "none, block or a memory limit");
  app.add_option("--batch", options.batch);
  app.add_option("--size", options.size, "height and width of the images");
  app.add_option("--threads", options.threads);
  app.add_option("--seconds", options.seconds, "time to spend on steps");
  app.add_flag("--on-demand", options.on_demand, "reads seconds to train for from standard input");
  CLI11_PARSE(app, argc, argv);

  Trainer trainer{options};
  for (int i = 0; i < options.warmup; ++i)
    trainer.step();
  if (options.on_demand) {
    train_on_demand(trainer);
    return 0;
  }
  std::vector<double> times;
  const double processor_start = processor_seconds();
  for (const auto start = Clock::now();
       times.size() < static_cast<std::size_t>(options.least_steps) ||
       (seconds_since(start) < options.seconds &&
        times.size() < static_cast<std::size_t>(options.most_steps));)
    times.push_back(trainer.step());
  const double processor =
      (processor_seconds() - processor_start) / static_cast<double>(times.size());
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  fmt::print(
      "{{\"model\":\"{}\",\"precision\":\"{}\",\"batch\":{},\"size\":{},\"threads\":{},"
      "\"images_per_second\":{:.1f},\"best\":{:.1f},\"ms\":{:.2f},\"processor_ms\":{:.2f},"
      "\"steps\":{},"
      "\"peak_rss_mib\":{:.0f},\"device_mib\":{:.0f},\"arena_mib\":{:.0f},\"loss\":{:.4f}}}\n",
      options.model, options.precision, options.batch, options.size, options.threads,
      static_cast<double>(options.batch) / median,
      static_cast<double>(options.batch) / times.front(), 1e3 * median, 1e3 * processor,
      times.size(), peak_rss(), trainer.memory_mib(), trainer.arena_mib(), trainer.loss());
}
