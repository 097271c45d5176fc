// Times one training step on a CUDA device: forward, backward and optimizer on one fixed random
// micro-batch in device memory, of images or, with --sequence, of tokens. Prints one JSON object.
// The peer is bench/peers/gpu_train_step.py; bench/gpu/run compares them.
#include "bench/gpu/kernel_trace.hpp"
#include "bench/gpu/rates_json.hpp"
#include "bench/gpu/trainer.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::bench;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

/// Processor time of all threads of this process, in seconds.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Measured {
  std::vector<double> seconds; ///< of each step, by the device's clock; sorted
  double enqueue_seconds = 0;  ///< per step, of the calling thread
  double processor_seconds = 0;
};

/// Enqueues steps ahead of the device, as the actors do; never waits for single steps.
Measured measure(Trainer& trainer, const Options& options) {
  constexpr int ahead = 4;
  Measured measured;
  std::vector<EventPtr> events{trainer.record()};
  const double processor = processor_seconds();
  const auto start = Clock::now();
  double enqueue = 0;
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (static_cast<int>(events.size()) <= options.least_steps || elapsed() < options.seconds) {
    const auto begin = Clock::now();
    trainer.step();
    events.push_back(trainer.record());
    enqueue += std::chrono::duration<double>(Clock::now() - begin).count();
    if (events.size() > ahead)
      while (!events[events.size() - ahead]->ready())
        std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  trainer.synchronize();
  const auto steps = static_cast<double>(events.size() - 1);
  measured.enqueue_seconds = enqueue / steps;
  measured.processor_seconds = (processor_seconds() - processor) / steps;
  for (std::size_t i = 1; i < events.size(); ++i)
    measured.seconds.push_back(
        std::chrono::duration<double>(events[i]->time() - events[i - 1]->time()).count());
  std::ranges::sort(measured.seconds);
  return measured;
}

/// Returns the nodes of a pass in order, for the roofline (bench/gpu/suite/trace.py).
Json profile_json(Trainer& trainer) {
  Json nodes = Json::array();
  for (const auto& node : trainer.profile())
    nodes.push_back({{"name", node.name},
                     {"output", node.output},
                     {"unit", node.unit},
                     {"us", node.microseconds},
                     {"operations", node.traffic.operations},
                     {"operation_class", to_string(node.traffic.operation_class)},
                     {"bytes", node.traffic.moved()}});
  return nodes;
}

/// Must run before anything is created on the device, so that CUPTI sees the graphs' kernels.
std::unique_ptr<KernelTrace> begin_trace(const Options& options) {
  return options.trace ? value_or_give_up(KernelTrace::begin()) : nullptr;
}

/// Prints the time per step of each kernel to stderr, longest first; returns the trace's part of
/// the result.
Json print_trace(KernelTrace& trace, double steps) {
  auto spans = value_or_give_up(trace.finish());
  std::map<std::string, std::pair<double, double>>
      kernels; // name: microseconds and launches per step
  double busy = 0;
  for (const auto& span : spans) {
    auto& [time, launches] = kernels[span.name];
    const auto one = 1e-3 * static_cast<double>(span.end - span.begin) / steps;
    time += one;
    busy += one;
    launches += 1 / steps;
  }
  std::vector<std::pair<std::string, std::pair<double, double>>> order{kernels.begin(),
                                                                       kernels.end()};
  std::ranges::stable_sort(order, std::greater{}, [](const auto& of) { return of.second.first; });
  for (const auto& [name, of] : order)
    fmt::print(stderr, "{:>9.1f} us {:>6.1f} x  {}\n", of.first, of.second, name);
  return {{"idle_ratio", idle_ratio(std::move(spans))},
          {"kernel_us_per_step", busy},
          {"kernels", kernels.size()}};
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

/// Describes the measured step.
Json case_json(const Options& options) {
  Json found{{"model", options.model},
             {"precision", to_string(options.precision)},
             {"fusion", to_string(options.fusion)},
             {"batch", options.batch}};
  found["size"] = options.is_language() ? options.sequence : options.size;
  return found;
}

Json speed_json(const Options& options, const Measured& measured) {
  const double median = measured.seconds[measured.seconds.size() / 2];
  const auto samples = static_cast<double>(options.samples_of_step());
  return {{options.is_language() ? "tokens_per_second" : "images_per_second", samples / median},
          {"best", samples / measured.seconds.front()},
          {"ms", 1e3 * median},
          {"cpu_us_per_step", 1e6 * measured.enqueue_seconds},
          {"processor_us_per_step", 1e6 * measured.processor_seconds},
          {"steps", measured.seconds.size()}};
}

Json memory_json(const MemoryUse& memory) {
  Json by_kind;
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    by_kind[std::string{to_string(static_cast<MemoryKind>(kind))}] = mib(memory.peak[kind]);
  return {{"peak_memory_mib", mib(memory.total_peak)}, {"memory_mib", by_kind}};
}

Json counted_json(Trainer& trainer) {
  const auto traffic = total(trainer.count());
  return {{"bytes", traffic.moved()},
          {"operations", traffic.operations},
          {"launches", traffic.launches}};
}

template <Choice E>
void add_choice(CLI::App& app, const std::string& name, E& value, const std::string& help) {
  const auto& words = choice_words<E>;
  const auto take = [&value](const std::string& word) { value = *choice_named<E>(word); };
  app.add_option_function<std::string>(name, take, help)
      ->check(CLI::IsMember(std::vector<std::string>{words.begin(), words.end()}));
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times one training step on a CUDA device"};
  app.add_option("--model", options.model, "as in a config");
  add_choice(app, "--precision", options.precision, "as in a config");
  add_choice(app, "--fusion", options.fusion, "full, or basic: separate batch norms");
  app.add_option("--batch", options.batch);
  app.add_option("--size", options.size, "height and width of the images");
  app.add_option("--classes", options.classes);
  app.add_option("--channels", options.channels, "number of image channels");
  app.add_option("--sequence", options.sequence, "tokens per sample of a language model");
  app.add_option("--vocabulary", options.vocabulary, "vocabulary size of a language model");
  app.add_option("--seconds", options.seconds, "time to spend on steps");
  app.add_option("--warmup", options.warmup, "warm-up steps before the measurement");
  app.add_option("--least-steps", options.least_steps,
                 "minimum number of steps, even beyond --seconds");
  app.add_option("--device", options.device);
  app.add_flag("--profile", options.profile,
               "time, operations and bytes of each node of the graph");
  app.add_flag("--trace", options.trace,
               "print the time per kernel and the share of idle time to stderr; slower");
  CLI11_PARSE(app, argc, argv);

  const auto trace = begin_trace(options);
  Trainer trainer{options};
  trainer.warm_up();
  if (trace)
    value_or_give_up(trace->finish()); // discards the warm-up's spans
  const auto measured = measure(trainer, options);
  auto result = case_json(options);
  result.update(speed_json(options, measured));
  if (trace)
    result.update(print_trace(*trace, static_cast<double>(measured.seconds.size())));
  result.update(memory_json(trainer.memory()));
  result["loss"] = trainer.loss();
  result["device"] = trainer.device_name();
  if (trainer.can_count())
    result["counted"] = counted_json(trainer);
  for (const auto& [phase, seconds] : trainer.phases())
    result["startup"][phase] = seconds;
  if (options.profile) {
    result["profile"] = profile_json(trainer);
    result["rates"] = rates_json(value_or_give_up(gpu::DeviceRates::of_device(options.device)));
  }
  fmt::print("{}\n", result.dump());
}
