// Time to predict a batch on the host device, on one fixed random batch: the work of `troupe
// predict` without its file I/O. The peer is bench/peers/cpu_predict.py.
#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "inference/predictor.hpp"
#include "nn/models/models.hpp"
#include "training/initial_state.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

using namespace troupe;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  std::string model = "resnet50", precision = "fp32";
  std::int64_t batch = 8, size = 224;
  int threads = 2, warmup = 3, least_runs = 5, most_runs = 200;
  double seconds = 4;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Config config_of(const Options& options) {
  Config config;
  config.model.name = options.model;
  config.model.stem = options.size > 64 ? Stem::imagenet : Stem::cifar;
  config.model.num_classes = options.size > 64 ? 1000 : 10;
  config.data.dataset = "synthetic";
  config.data.image_size = options.size;
  config.data.limit = 4 * options.batch;
  config.data.eval_batch_size = options.batch;
  config.precision.mode = options.precision == "bf16" ? Precision::amp_bf16 : Precision::fp32;
  config.devices.kind = DeviceKind::cpu;
  config.devices.threads_per_worker = options.threads;
  return config;
}

Result<inference::SavedModel> untrained(const Config& config) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  return inference::SavedModel{.config = config, .weights = training::initial_state(graph, 1)};
}

struct Timings {
  std::vector<double> runs; ///< seconds of each run
  double processor = 0;     ///< seconds per run, over all threads
};

/// Processor time of all threads, in seconds.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Result<Timings> measure(inference::Predictor& predictor, const data::AdapterPtr& adapter,
                        const Options& options) {
  TROUPE_TRY(const auto producer, predictor.make_producer(adapter, 1));
  const auto batch = producer->fill(0, {}, {}, [](const Error&) {});
  inference::Answer answer;
  const auto run = [&]() -> Result<double> {
    const auto start = Clock::now();
    TROUPE_TRY(predictor.ask(batch, answer));
    TROUPE_TRY(predictor.finish());
    return seconds_since(start);
  };
  for (int i = 0; i < options.warmup; ++i)
    TROUPE_TRY(run());
  Timings timings;
  auto& times = timings.runs;
  const double processor_start = processor_seconds();
  for (const auto start = Clock::now();
       std::ssize(times) < options.least_runs ||
       (seconds_since(start) < options.seconds && std::ssize(times) < options.most_runs);) {
    TROUPE_TRY(const auto seconds, run());
    times.push_back(seconds);
  }
  timings.processor = (processor_seconds() - processor_start) / static_cast<double>(times.size());
  return timings;
}

Status run(const Options& options) {
  const auto config = config_of(options);
  TROUPE_TRY(const auto model, untrained(config));
  TROUPE_TRY(const auto adapter, data::open_adapter(config, data::Split::test));
  TROUPE_TRY(const auto predictor, inference::Predictor::create(model, *adapter));
  TROUPE_TRY(auto timings, measure(*predictor, adapter, options));
  auto& times = timings.runs;
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  fmt::print("{{\"model\":\"{}\",\"precision\":\"{}\",\"batch\":{},\"size\":{},\"threads\":{},"
             "\"images_per_second\":{:.2f},\"best\":{:.2f},\"ms\":{:.2f},\"processor_ms\":{:.2f},"
             "\"runs\":{}}}\n",
             options.model, options.precision, options.batch, options.size, options.threads,
             static_cast<double>(options.batch) / median,
             static_cast<double>(options.batch) / times.front(), 1e3 * median,
             1e3 * timings.processor, times.size());
  return {};
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times the prediction of a batch on the host device"};
  app.add_option("--model", options.model, "as in a config");
  app.add_option("--precision", options.precision, "fp32 or bf16");
  app.add_option("--batch", options.batch);
  app.add_option("--size", options.size, "height and width of the images");
  app.add_option("--threads", options.threads);
  app.add_option("--seconds", options.seconds, "time to spend on runs");
  CLI11_PARSE(app, argc, argv);
  const auto status = run(options);
  if (!status)
    fmt::print(stderr, "{}\n", status.error().to_string());
  return status ? 0 : status.error().exit_code();
}
