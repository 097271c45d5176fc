#include "bench/gpu/trainer.hpp"

#include "bench/gpu/node_traffic.hpp"
#include "core/device/rounded_executable.hpp"
#include "core/fail.hpp"
#include "core/float16.hpp"
#include "core/graph/precision.hpp"
#include "core/random.hpp"
#include "nn/optimizer.hpp"
#include "training/initial_state.hpp"
#include "training/platforms/detail/cuda_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace troupe::bench {

namespace {

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

struct StepTime {
  std::string name;
  std::size_t node; ///< index in the graph
  double microseconds;
};

/// Times the steps of one pass. Its events are driver events, because events of streams are
/// recycled while these are still needed.
class StepTimer {
public:
  StepTimer(gpu::CudaExecutable& executable, gpu::CudaStream& stream, std::size_t most_steps)
      : executable_{executable}, stream_{stream}, events_(most_steps + 1) {
    steps_.reserve(most_steps);
    for (auto& event : events_)
      cudaEventCreate(&event);
  }
  ~StepTimer() {
    for (const auto event : events_)
      cudaEventDestroy(event);
  }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  /// A step's time includes the wait for its launch, so use it to find slow steps, not to add up.
  /// Times are in execution order. Blocks.
  Result<std::vector<StepTime>> run() {
    mark();
    executable_.run_steps(stream_, [this](const gpu::Step& step) {
      steps_.push_back(&step); // nothing slower: it would delay the next launch
      mark();
    });
    TROUPE_TRY(stream_.synchronize());
    std::vector<StepTime> times;
    times.reserve(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]);
      times.push_back(
          {steps_[i]->name, steps_[i]->node_index, 1e3 * static_cast<double>(milliseconds)});
    }
    return times;
  }

private:
  void mark() {
    stream_.enqueue("mark",
                    [this](cudaStream_t raw) { cudaEventRecord(events_[steps_.size()], raw); });
  }

  gpu::CudaExecutable& executable_;
  gpu::CudaStream& stream_;
  std::vector<cudaEvent_t> events_;
  std::vector<const gpu::Step*> steps_; ///< in execution order
};

void take_images(Config& config, const Options& options) {
  config.model.stem = options.size > 64 ? Stem::imagenet : Stem::cifar;
  config.model.num_classes = options.classes;
  config.model.in_channels = options.channels;
  config.data.image_size = options.size;
  config.train.optimizer = {
      .name = OptimizerKind::sgd, .lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4};
}

/// Reads no text: with any tokenizer except bytes, the vocabulary is the model's.
void take_tokens(Config& config, const Options& options) {
  config.model.vocabulary = options.vocabulary;
  config.model.positions = options.sequence;
  config.model.layers = options.layers;
  config.model.width = options.width;
  config.data.dataset = "text";
  config.data.tokenizer.path = "random";
  config.data.sequence_length = options.sequence;
  config.train.optimizer = {
      .name = OptimizerKind::adamw, .lr = 6e-4, .weight_decay = 0.1, .betas = {0.9, 0.95}};
}

Config config_of(const Options& options) {
  Config config;
  config.model.name = options.model;
  config.data.batch_size = options.batch;
  config.precision.mode = options.precision;
  config.devices.kind = DeviceKind::cuda;
  config.run.deterministic = options.deterministic;
  config.devices.fusion = options.fusion;
  if (options.is_language())
    take_tokens(config, options);
  else
    take_images(config, options);
  return config;
}

/// Prints the device's lines about its plans: searches, their times, and choices.
void say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

} // namespace

void Trainer::Phases::end(const char* name) {
  const auto now = std::chrono::steady_clock::now();
  seconds.emplace_back(name, std::chrono::duration<double>(now - begin).count());
  begin = now;
}

void give_up(const Error& error) {
  fmt::print(stderr, "bench_gpu_train_step: {}\n", error.to_string());
  std::exit(error.exit_code());
}

Trainer::Trainer(const Options& options)
    : options_{options}, config_{config_of(options)}, device_{value_or_give_up(
                                                          gpu::make_cuda_device(options.device,
                                                                                say))},
      stream_{device_->create_stream({.name = "compute"})} {
  phases_.end("device");
  auto engine = value_or_give_up(training::cuda_options(config_, *device_));
  engine.passes.input = training::cuda_input(config_, !options.is_language());
  auto model = value_or_give_up(
      nn::prepare_model(config_, options.batch, nn::PassMode::training, engine.passes));
  phases_.end("graph");
  engine.compile.memory = model.memory;
  executable_ = value_or_give_up(device_->compile(model.graph, engine.compile));
  lowered_ = dynamic_cast<gpu::CudaExecutable*>(executable_.get());
  if (const auto stored = stored_type(options.precision); stored != DType::f32)
    executable_ = with_rounded_results(std::move(executable_), *device_, {stored, stored});
  graph_ = std::move(model.graph);
  compiled_ = std::move(engine.compile);
  phases_.end("compile");
  make_state();
  make_batch();
  phases_.end("state");
}

void Trainer::warm_up() {
  for (int i = 0; i < options_.warmup; ++i)
    step();
  synchronize();
  phases_.end("warm-up");
}

void Trainer::step() {
  if (!state_->buffers().part().writes_copies())
    executable_->refresh_all(*stream_);
  executable_->run(*stream_);
  for (const auto& all :
       state_->buffers().part().chunks()) { // a single worker has its state in one piece
    if (state_->loss_scale())
      device_->check_finite(*stream_, all.gradients, all.elements,
                            &state_->loss_scale()->found_inf);
    device_->optimizer_step(*stream_, optimizer(), all, nullptr, state_->loss_scale());
  }
  if (state_->loss_scale())
    device_->update_loss_scale(*stream_, LossScaleOptions{}, state_->loss_scale());
  ++steps_;
}

void Trainer::synchronize() {
  check(stream_->synchronize());
}

float Trainer::loss() {
  executable_->read_outputs(*stream_, &outputs_);
  synchronize();
  return outputs_["loss"];
}

std::vector<NodeTime> Trainer::profile() {
  constexpr std::size_t passes = 5;
  const auto most = graph_.nodes.size() + graph_.units.size(); // a unit may widen its gradients
  auto* const plans = device_->plans().value_or(nullptr);      // null: cuDNN is missing
  const auto widened = value_or_give_up(widening_traffic(graph_, plans, compiled_));
  std::vector<std::vector<double>> samples;
  std::vector<NodeTime> nodes;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const auto times =
        value_or_give_up(StepTimer{*lowered_, gpu::cuda_stream(*stream_), most}.run());
    samples.resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i)
      samples[i].push_back(times[i].microseconds);
    if (pass > 0)
      continue;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto& node = graph_.nodes[times[i].node];
      // A unit's last node has a second step if the unit widens its gradients.
      const bool widens = i > 0 && times[i].node == times[i - 1].node;
      const auto& unit = graph_.units[static_cast<std::size_t>(node.unit)];
      nodes.push_back({times[i].name, graph_[node.outputs[0]].name, unit, 0,
                       widens ? widened.at(unit)
                              : value_or_give_up(node_traffic(graph_, node, compiled_.memory, plans,
                                                              compiled_))});
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::ranges::sort(samples[i]);
    nodes[i].microseconds = samples[i][passes / 2];
  }
  return nodes;
}

std::vector<CountedWork> Trainer::count() {
  return value_or_give_up(count_step(config_, *value_or_give_up(device_->plans())));
}

OptimizerArguments Trainer::optimizer() const {
  auto arguments = nn::at_step(first_update_, steps_, config_.train.optimizer.lr);
  arguments.stored = stored_type(options_.precision);
  return arguments;
}

void Trainer::make_state() {
  first_update_ = nn::optimizer_arguments(config_.train.optimizer);
  const bool scaled = scales_loss(options_.precision);
  state_ = value_or_give_up(training::ModelState::create(
      *device_, executable_->layout(),
      {.optimizer_slots = training::optimizer_slot_names(first_update_),
       .loss_scale = scaled ? std::optional{LossScaleOptions{}} : std::nullopt,
       .stored = stored_type(options_.precision)}));
  check(state_->load(*stream_, *training::initial_state(graph_, 1)));
  training::bind(*executable_, *state_);
  state_->buffers().part().write(executable_->copies());
  executable_->refresh_all(*stream_);
}

/// Channels beyond those of the images are zero.
std::vector<std::byte> Trainer::random_images() const {
  const auto& input = graph_[graph_.with_role(Role::input).front()];
  const auto elements = static_cast<std::size_t>(input.shape.elements());
  CounterRng random{7, 0};
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] =
        static_cast<std::int64_t>(i) % input.shape[3] < options_.channels ? random.normal() : 0.0f;
  return bytes_of(input.dtype, values);
}

std::vector<std::int32_t> Trainer::random_below(std::int64_t bound) const {
  CounterRng random{7, 1};
  std::vector<std::int32_t> values(static_cast<std::size_t>(options_.samples_of_step()));
  for (auto& value : values)
    value = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(bound)));
  return values;
}

/// Tokens are their own targets, which does not affect a step's time.
void Trainer::make_batch() {
  const auto targets =
      random_below(options_.is_language() ? options_.vocabulary : options_.classes);
  const auto ids = std::as_bytes(std::span{targets});
  const auto inputs =
      options_.is_language() ? std::vector<std::byte>{ids.begin(), ids.end()} : random_images();
  inputs_ = value_or_give_up(device_->allocate(inputs.size(), MemoryKind::data));
  targets_ = value_or_give_up(device_->allocate(ids.size(), MemoryKind::data));
  device_->copy(*stream_, inputs_->data(), inputs.data(), inputs.size());
  device_->copy(*stream_, targets_->data(), ids.data(), ids.size());
  synchronize();
  check(executable_->set_batch(
      at_addresses(executable_->batch(), {inputs_->data(), targets_->data()})));
}

} // namespace troupe::bench
