// How long one training step takes on a CUDA device: forward, backward and optimizer on one fixed
// random micro-batch in its memory. Prints one JSON object. The peer is
// bench/peers/gpu_train_step.py; bench/gpu/run compares them.
#include "troupe/actors/devices.hpp"
#include "troupe/actors/model_state.hpp"
#include "troupe/actors/resume.hpp"
#include "troupe/core/float16.hpp"
#include "troupe/core/precision.hpp"
#include "troupe/core/random.hpp"
#include "troupe/gpu/cuda_device.hpp"
#include "troupe/gpu/kernel_trace.hpp"
#include "troupe/gpu/lowering/executable.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace troupe;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  std::string model = "resnet50", precision = "amp_fp16", fusion = "full";
  std::int64_t batch = 128, size = 224, classes = 1000, channels = 3;
  int warmup = 10, least_steps = 20, device = 0;
  double seconds = 3;
  bool profile = false, trace = false;
};

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "bench_gpu_train_step: {}\n", error.to_string());
  std::exit(error.exit_code());
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result)
    give_up(result.error());
  return std::move(*result);
}

void check(const Status& status) {
  if (!status)
    give_up(status.error());
}

std::vector<std::byte> bytes_of(DType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = type == DType::f16 ? f16_from_float(values[i]) : bf16_from_float(values[i]);
    if (type == DType::f32)
      std::memcpy(&bytes[i * sizeof(float)], &values[i], sizeof(float));
    else
      std::memcpy(&bytes[i * sizeof bits], &bits, sizeof bits);
  }
  return bytes;
}

Config config_of(const Options& options) {
  Config config;
  config.model.name = options.model;
  config.model.stem = options.size > 64 ? "imagenet" : "cifar";
  config.model.num_classes = options.classes;
  config.model.in_channels = options.channels;
  config.data.image_size = options.size;
  config.precision.mode = options.precision;
  config.devices.kind = "cuda";
  config.devices.fusion = options.fusion;
  return config;
}

/// A model on one device, and its step as a plain loop.
class Trainer {
public:
  explicit Trainer(const Options& options)
      : options_{options}, config_{config_of(options)}, device_{value_or_give_up(
                                                            gpu::make_cuda_device(options.device))},
        stream_{device_->create_stream({.name = "compute"})} {
    auto engine = value_or_give_up(actors::engine_options(config_, *device_));
    engine.passes.input = {.dtype = compute_type(*precision_of(options.precision)), .channels = 4};
    const auto model = value_or_give_up(
        nn::prepare_model(config_, options.batch, nn::Purpose::training, engine.passes));
    engine.compile.memory = model.memory;
    executable_ = value_or_give_up(device_->compile(model.graph, engine.compile));
    make_state(model.graph);
    make_batch(model.graph);
  }

  void step() {
    const auto units = static_cast<UnitId>(executable_->layout().unit_elements.size());
    for (UnitId unit = 0; unit < units; ++unit)
      executable_->refresh(*stream_, unit);
    executable_->run(*stream_);
    if (state_->loss_scale())
      device_->check_finite(*stream_, state_->gradients(), state_->elements(),
                            &state_->loss_scale()->found_inf);
    device_->optimizer_step(*stream_, sgd(),
                            {state_->parameters(), state_->gradients(), state_->optimizer(0),
                             nullptr, state_->elements()},
                            nullptr, state_->loss_scale());
    if (state_->loss_scale())
      device_->update_loss_scale(*stream_, LossScaleOptions{}, state_->loss_scale());
    ++steps_;
  }

  EventPtr record() { return stream_->record(); }
  void synchronize() { check(stream_->synchronize()); }
  float loss() {
    executable_->read_outputs(*stream_, &outputs_);
    synchronize();
    return outputs_.loss;
  }
  /// Medians over a few passes, longest first.
  std::vector<gpu::StepTime> profile() {
    auto& executable = dynamic_cast<gpu::CudaExecutable&>(*executable_);
    std::vector<std::vector<double>> samples;
    std::vector<gpu::StepTime> steps;
    for (int pass = 0; pass < 5; ++pass) {
      steps = value_or_give_up(executable.time_steps(*stream_));
      samples.resize(steps.size());
      for (std::size_t i = 0; i < steps.size(); ++i)
        samples[i].push_back(steps[i].microseconds);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::ranges::sort(samples[i]);
      steps[i].microseconds = samples[i][samples[i].size() / 2];
    }
    std::ranges::stable_sort(steps, std::greater{}, &gpu::StepTime::microseconds);
    return steps;
  }

  MemoryUse memory() const { return device_->memory(); }
  const std::string& device_name() const { return device_->info().name; }

private:
  OptimizerArguments sgd() const {
    return {.lr = 0.01f, .momentum = 0.9f, .weight_decay = 5e-4f, .step = steps_ + 1};
  }

  void make_state(const Graph& graph) {
    const bool scaled = scales_loss(*precision_of(options_.precision));
    state_ = value_or_give_up(actors::ModelState::create(
        *device_, executable_->layout(),
        {.optimizer_slots = {"momentum"},
         .loss_scale = scaled ? std::optional{LossScaleOptions{}} : std::nullopt}));
    check(state_->load(*stream_, value_or_give_up(actors::initial_checkpoint(graph, 1))));
    actors::bind(*executable_, *state_);
  }

  void make_batch(const Graph& graph) {
    const auto& input = graph[graph.with_role(Role::input).front()];
    const auto elements = static_cast<std::size_t>(input.shape.elements());
    CounterRng random{7, 0};
    std::vector<float> values(elements);
    for (std::size_t i = 0; i < elements; ++i)
      values[i] = static_cast<std::int64_t>(i) % input.shape[3] < options_.channels
                      ? random.normal()
                      : 0.0f; // padded channels
    std::vector<std::int32_t> labels(static_cast<std::size_t>(options_.batch));
    for (auto& label : labels)
      label = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(options_.classes)));
    const auto bytes = bytes_of(input.dtype, values);
    images_ = value_or_give_up(device_->allocate(bytes.size(), MemoryKind::data));
    labels_ = value_or_give_up(device_->allocate(labels.size() * 4, MemoryKind::data));
    device_->copy(*stream_, images_->data(), bytes.data(), bytes.size());
    device_->copy(*stream_, labels_->data(), labels.data(), labels.size() * 4);
    synchronize();
    executable_->set_batch(
        {images_->data(), reinterpret_cast<const std::int32_t*>(labels_->data())});
  }

  Options options_;
  Config config_;
  std::unique_ptr<gpu::CudaDevice> device_;
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<actors::ModelState> state_;
  BufferPtr images_, labels_;
  StepOutputs outputs_;
  std::int64_t steps_ = 0;
  std::unique_ptr<Stream> stream_; ///< last: it ends before what its work uses
};

/// Of this process, all threads.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Measured {
  std::vector<double> seconds; ///< of each step, on the device's clock; sorted
  double enqueue_seconds = 0;  ///< of the calling thread, a step
  double processor_seconds = 0;
};

/// Steps are enqueued ahead of the device, as the actors do, and never waited for one by one.
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

void print_profile(Trainer& trainer) {
  double sum = 0;
  for (const auto& step : trainer.profile()) {
    fmt::print(stderr, "{:>9.1f} us  {}\n", step.microseconds, step.name);
    sum += step.microseconds;
  }
  fmt::print(stderr, "{:>9.1f} us  all steps, each with its launch\n", sum);
}

/// Begun before anything is made on the device, so that CUPTI sees the graphs' kernels.
std::unique_ptr<gpu::KernelTrace> begin_trace(const Options& options) {
  return options.trace ? value_or_give_up(gpu::KernelTrace::begin()) : nullptr;
}

/// Kernels by the time that a step spends in them, to stderr; returns what goes into the result.
nlohmann::ordered_json print_trace(gpu::KernelTrace& trace, double steps) {
  auto spans = value_or_give_up(trace.finish());
  std::map<std::string, std::pair<double, double>>
      kernels; // name: microseconds and launches a step
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
  return {{"idle_ratio", gpu::idle_ratio(std::move(spans))},
          {"kernel_us_per_step", busy},
          {"kernels", kernels.size()}};
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times one training step on a CUDA device"};
  app.add_option("--model", options.model, "as in a config");
  app.add_option("--precision", options.precision, "as in a config");
  app.add_option("--fusion", options.fusion, "as in a config");
  app.add_option("--batch", options.batch);
  app.add_option("--size", options.size, "height and width of the images");
  app.add_option("--classes", options.classes);
  app.add_option("--channels", options.channels, "of the images");
  app.add_option("--seconds", options.seconds, "to fill with steps");
  app.add_option("--device", options.device);
  app.add_flag("--profile", options.profile, "time per step of the lowered graph, to stderr");
  app.add_flag("--trace", options.trace,
               "time per kernel, to stderr, and the share of time without any; slower");
  CLI11_PARSE(app, argc, argv);

  const auto trace = begin_trace(options);
  Trainer trainer{options};
  for (int i = 0; i < options.warmup; ++i)
    trainer.step();
  trainer.synchronize();
  if (trace)
    value_or_give_up(trace->finish()); // the warm-up's
  const auto measured = measure(trainer, options);
  if (options.profile)
    print_profile(trainer);
  const double median = measured.seconds[measured.seconds.size() / 2];
  const auto memory = trainer.memory();
  nlohmann::ordered_json by_kind;
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    by_kind[std::string{to_string(static_cast<MemoryKind>(kind))}] = mib(memory.peak[kind]);
  const auto batch = static_cast<double>(options.batch);
  nlohmann::ordered_json result{{"model", options.model},
                                {"precision", options.precision},
                                {"fusion", options.fusion},
                                {"batch", options.batch},
                                {"size", options.size},
                                {"images_per_second", batch / median},
                                {"best", batch / measured.seconds.front()},
                                {"ms", 1e3 * median},
                                {"peak_memory_mib", mib(memory.total_peak)},
                                {"memory_mib", by_kind},
                                {"cpu_us_per_step", 1e6 * measured.enqueue_seconds},
                                {"processor_us_per_step", 1e6 * measured.processor_seconds},
                                {"loss", trainer.loss()},
                                {"device", trainer.device_name()},
                                {"steps", measured.seconds.size()}};
  if (trace)
    result.update(print_trace(*trace, static_cast<double>(measured.seconds.size())));
  fmt::print("{}\n", result.dump());
}
