#include "tests/devices/graph_runner.hpp"

#include "core/device/rounded_executable.hpp"
#include "cpu/host_device.hpp"
#include "tests/devices/graph_values.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace troupe::testing {

namespace {

void store(const Slot& slot, const std::vector<float>& values, std::vector<float>& flat) {
  const std::span<float> place{flat.data() + slot.offset, slot.elements};
  if (slot.codec)
    slot.codec->encode(values, place);
  else
    std::ranges::copy(values, place.begin());
}

std::vector<float> load(const Slot& slot, const std::vector<float>& flat) {
  std::vector<float> values(static_cast<std::size_t>(slot.shape.elements()));
  const std::span<const float> place{flat.data() + slot.offset, slot.elements};
  if (slot.codec)
    slot.codec->decode(place, values);
  else
    std::ranges::copy(place, values.begin());
  return values;
}

/// Returns a flat buffer, never empty, so that it has an address.
std::vector<float> flat_values(std::size_t elements) {
  return std::vector<float>(std::max<std::size_t>(elements, 1));
}

} // namespace

std::vector<float> RunResult::losses() const {
  std::vector<float> values;
  for (const auto& step : steps)
    values.push_back(step["loss"]);
  return values;
}

class GraphRun::State {
public:
  State(Device& device, const Graph& graph, const RunOptions& options)
      : device_{device}, graph_{graph}, options_{options}, stream_{device.create_stream(
                                                               {"compute", options.threads})} {
    const CompileOptions compile{.engine = options.engine,
                                 .deterministic = true,
                                 .tf32 = options.tf32,
                                 .threads = options.threads,
                                 .memory = options.memory,
                                 .layout = options.layout};
    auto made =
        options.compile ? options.compile(device, graph, compile) : device.compile(graph, compile);
    if (!made)
      FAIL(made.error().to_string());
    executable_ = std::move(*made);
    if (options.stored != DType::f32)
      executable_ =
          with_rounded_results(std::move(executable_), device, {options.stored, options.stored});
    bind();
  }
  /// Waits for enqueued work before buffers and executable are destroyed.
  ~State() { (void)stream_->synchronize(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const StorageLayout& layout() const { return executable_->layout(); }

  RunResult run(const Steps& steps) {
    reset();
    const float scale = steps.loss_scale.value_or(options_.loss_scale);
    loss_scale_->write({scale});
    RunResult result;
    result.steps.resize(static_cast<std::size_t>(steps.count));
    for (int step = 0; step < steps.count; ++step) {
      require(executable_->set_batch(batch(step % steps.batches)));
      executable_->set_gradient_mode(steps.adds && step > 0 ? GradientMode::add
                                                            : GradientMode::overwrite);
      run_pass(steps, result);
      executable_->read_outputs(*stream_, &result.steps[static_cast<std::size_t>(step)]);
      if (steps.learn)
        learn(step + 1, steps.lr, scale);
    }
    read_activations(result);
    require(stream_->synchronize());
    result.outputs = result.steps.back();
    read_slots(result);
    return result;
  }

private:
  using Floats = DeviceVector<float>;

  void bind() {
    for (std::size_t unit = 0; unit < layout().unit_elements.size(); ++unit) {
      const auto zeros = flat_values(layout().unit_elements[unit]);
      for (auto* buffers : {&parameters_, &gradients_, &momenta_})
        buffers->emplace_back(device_, *stream_, zeros);
      executable_->bind(static_cast<UnitId>(unit), parameters_[unit].data(),
                        gradients_[unit].data());
    }
    statistics_ =
        std::make_unique<Floats>(device_, *stream_, flat_values(layout().statistic_elements));
    executable_->bind_statistics(statistics_->data());
    loss_scale_ = std::make_unique<Floats>(device_, *stream_, std::vector<float>{1});
    executable_->bind_loss_scale(loss_scale_->data());
  }

  /// Restores the initial state. Gradients become NaN: the passes must write them.
  void reset() {
    auto statistics = flat_values(layout().statistic_elements);
    for (const auto& slot : layout().statistics)
      store(slot, initial_values(slot), statistics);
    statistics_->write(statistics);
    for (std::size_t unit = 0; unit < parameters_.size(); ++unit) {
      auto values = flat_values(layout().unit_elements[unit]), gradients = values;
      momenta_[unit].write(values);
      for (const auto& slot : layout().parameters)
        if (static_cast<std::size_t>(slot.unit) == unit) {
          const auto first = initial_values(slot);
          store(slot, first, values);
          store(slot, std::vector<float>(first.size(), std::nanf("")), gradients);
        }
      parameters_[unit].write(values);
      device_.round(*stream_, parameters_[unit].data(), options_.stored, values.size());
      gradients_[unit].write(gradients);
      executable_->refresh(*stream_, static_cast<UnitId>(unit));
    }
  }

  BatchView batch(int number) {
    while (batches_.size() <= static_cast<std::size_t>(number)) {
      Buffers buffers;
      for (const auto& values :
           batch_values(graph_, static_cast<int>(batches_.size()), options_.noise))
        buffers.emplace_back(device_, *stream_, values);
      batches_.push_back(std::move(buffers));
    }
    std::vector<const void*> addresses;
    for (const auto& buffer : batches_[static_cast<std::size_t>(number)])
      addresses.push_back(buffer.data());
    return at_addresses(executable_->batch(), addresses);
  }

  void run_pass(const Steps& steps, RunResult& result) {
    if (steps.timed) {
      auto times = executable_->time_steps(*stream_);
      if (!times)
        FAIL(times.error().to_string());
      result.times = std::move(times->steps);
    } else {
      steps.whole ? executable_->run(*stream_) : run_units();
    }
  }

  void run_units() {
    const auto units = static_cast<UnitId>(graph_.units.size());
    for (UnitId unit = 0; unit < units; ++unit)
      executable_->forward(*stream_, unit);
    for (UnitId unit = units - 1; unit >= 0; --unit)
      executable_->backward(*stream_, unit);
  }

  void learn(int step, float lr, float scale) {
    const OptimizerArguments arguments{.lr = lr,
                                       .momentum = 0.9f,
                                       .step = step,
                                       .gradient_scale = 1 / scale,
                                       .stored = options_.stored};
    for (std::size_t unit = 0; unit < parameters_.size(); ++unit) {
      const auto elements = layout().unit_elements[unit];
      if (elements == 0)
        continue;
      device_.optimizer_step(*stream_, arguments,
                             {parameters_[unit].data(), gradients_[unit].data(),
                              momenta_[unit].data(), nullptr, elements},
                             nullptr, nullptr);
      executable_->refresh(*stream_, static_cast<UnitId>(unit));
    }
  }

  void read_activations(RunResult& result) {
    if (!options_.memory.offsets.empty())
      return;
    const bool has_indices = device_.info().on_host || test_traits().stores_indices;
    for (const auto& tensor : graph_.tensors) {
      const bool index = tensor.dtype == DType::i32;
      if ((tensor.role != Role::activation && tensor.role != Role::output) ||
          (index && !has_indices))
        continue;
      auto& values = (index ? result.indices : result.activations)[tensor.name];
      values.resize(static_cast<std::size_t>(tensor.shape.elements()));
      require(executable_->read_tensor(*stream_, tensor.name, values));
    }
  }

  void read_slots(RunResult& result) {
    std::vector<std::vector<float>> parameters, gradients;
    for (std::size_t unit = 0; unit < parameters_.size(); ++unit) {
      parameters.push_back(parameters_[unit].read());
      gradients.push_back(gradients_[unit].read());
      result.raw_gradients.insert(result.raw_gradients.end(), gradients.back().begin(),
                                  gradients.back().end());
    }
    const bool backward = std::ranges::any_of(
        graph_.nodes, [](const Node& node) { return node.phase == Phase::backward; });
    for (const auto& slot : layout().parameters) {
      const auto unit = static_cast<std::size_t>(slot.unit);
      result.parameters[slot.name] = load(slot, parameters[unit]);
      if (backward)
        result.gradients[slot.name] = load(slot, gradients[unit]);
    }
    const auto statistics = statistics_->read();
    for (const auto& slot : layout().statistics)
      result.statistics[slot.name] = load(slot, statistics);
  }

  using Buffers = std::vector<DeviceVector<std::byte>>; ///< by tensor of the batch

  Device& device_;
  const Graph& graph_;
  RunOptions options_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Executable> executable_;
  std::vector<Floats> parameters_, gradients_, momenta_; ///< by unit
  std::unique_ptr<Floats> statistics_, loss_scale_;
  std::vector<Buffers> batches_;
};

GraphRun::GraphRun(Device& device, const Graph& graph, const RunOptions& options)
    : state_{std::make_unique<State>(device, graph, options)} {}
GraphRun::~GraphRun() = default;

RunResult GraphRun::operator()(const Steps& steps) {
  return state_->run(steps);
}

const StorageLayout& GraphRun::layout() const {
  return state_->layout();
}

RunOptions options_for(Precision precision, const MemoryPlan& memory) {
  return {.tf32 = precision == Precision::tf32,
          .memory = memory,
          .loss_scale = scales_loss(precision) ? 1024.0f : 1.0f,
          .stored = stored_type(precision)};
}

RunResult run_graph(Device& device, const Graph& graph, const RunOptions& options,
                    const Steps& steps) {
  return GraphRun{device, graph, options}(steps);
}

RunResult run_reference(const Graph& graph, const RunOptions& options, const Steps& steps) {
  const auto host = cpu::make_host_device(0, 2);
  auto interpreted = options;
  interpreted.engine = Engine::interpreter;
  interpreted.compile = {};
  return run_graph(*host, graph, interpreted, steps);
}

} // namespace troupe::testing
