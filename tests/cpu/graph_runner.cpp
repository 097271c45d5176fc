#include "graph_runner.hpp"

#include "troupe/core/random.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

namespace troupe::tests {

namespace {

std::vector<float> values_of(const std::string& name, std::size_t elements, float scale,
                             float offset) {
  std::uint64_t key = 1469598103934665603u;
  for (const char c : name)
    key = (key ^ static_cast<std::uint64_t>(c)) * 1099511628211u;
  CounterRng random{key, 0};
  std::vector<float> values(elements);
  for (float& value : values)
    value = offset + scale * random.normal();
  return values;
}

/// Batch norm's scales around 1, weights small enough that deep graphs keep their range.
std::vector<float> initial(const Slot& slot) {
  const auto elements = static_cast<std::size_t>(slot.shape.elements());
  if (slot.name.find("running_var") != std::string::npos)
    return std::vector<float>(elements, 1.0f);
  if (slot.shape.rank() == 1)
    return values_of(slot.name, elements, 0.3f,
                     slot.name.find("weight") != std::string::npos ? 1.0f : 0.1f);
  const float fan_in = static_cast<float>(slot.shape.elements() / slot.shape[0]);
  return values_of(slot.name, elements, std::sqrt(2.0f / fan_in), 0.0f);
}

class Run {
public:
  Run(const Graph& graph, const RunOptions& options) : graph_{graph}, options_{options} {
    stream_ = device_->create_stream({"compute", options.threads});
    CompileOptions compile{.engine = options.engine,
                           .deterministic = true,
                           .threads = options.threads,
                           .memory = options.memory,
                           .layout = options.layout};
    auto made = options.engine == CompileOptions::Engine::interpreter
                    ? cpu::compile_interpreter(*device_, graph, compile)
                    : cpu::compile_onednn(*device_, graph, compile, options.bf16);
    if (!made)
      FAIL(made.error().to_string());
    executable_ = std::move(*made);
  }

  RunResult operator()() {
    bind();
    set_batch();
    const auto units = static_cast<UnitId>(graph_.units.size());
    for (int step = 0; step < options_.steps; ++step) {
      for (UnitId unit = 0; unit < units; ++unit)
        executable_->forward(*stream_, unit);
      for (UnitId unit = units - 1; unit >= 0; --unit)
        executable_->backward(*stream_, unit);
    }
    RunResult result;
    executable_->read_outputs(*stream_, &result.outputs);
    read_activations(result);
    if (const auto status = stream_->synchronize(); !status)
      FAIL(status.error().to_string());
    read_slots(result);
    return result;
  }

private:
  void bind() {
    const auto& layout = executable_->layout();
    for (std::size_t unit = 0; unit < layout.unit_elements.size(); ++unit) {
      parameters_.emplace_back(layout.unit_elements[unit]);
      gradients_.emplace_back(layout.unit_elements[unit]);
    }
    statistics_.resize(layout.statistic_elements);
    for (const auto& slot : layout.parameters)
      store(slot, parameters_[static_cast<std::size_t>(slot.unit)]);
    for (const auto& slot : layout.statistics)
      store(slot, statistics_);
    for (std::size_t unit = 0; unit < layout.unit_elements.size(); ++unit) {
      executable_->bind(static_cast<UnitId>(unit), parameters_[unit].data(),
                        gradients_[unit].data());
      executable_->refresh(*stream_, static_cast<UnitId>(unit));
    }
    executable_->bind_statistics(statistics_.data());
    executable_->bind_loss_scale(&options_.loss_scale);
  }

  static void store(const Slot& slot, std::vector<float>& flat) {
    const auto values = initial(slot);
    const std::span<float> place{flat.data() + slot.offset, slot.elements};
    if (slot.codec)
      slot.codec->encode(values, place);
    else
      std::ranges::copy(values, place.begin());
  }

  static std::vector<float> load(const Slot& slot, const std::vector<float>& flat) {
    std::vector<float> values(static_cast<std::size_t>(slot.shape.elements()));
    const std::span<const float> place{flat.data() + slot.offset, slot.elements};
    if (slot.codec)
      slot.codec->decode(place, values);
    else
      std::ranges::copy(place, values.begin());
    return values;
  }

  void set_batch() {
    for (const auto id : graph_.with_role(Role::input))
      images_ = values_of("images", static_cast<std::size_t>(graph_[id].shape.elements()), 1, 0);
    for (const auto id : graph_.with_role(Role::target)) {
      const auto elements = static_cast<std::size_t>(graph_[id].shape.elements());
      if (graph_[id].dtype == DType::f32) {
        targets_ = values_of("targets", elements, 1, 0);
        continue;
      }
      for (std::size_t i = 0; i < elements; ++i)
        labels_.push_back(i == 1 ? -1 : static_cast<std::int32_t>(i * 7 % 3));
    }
    executable_->set_batch(
        {images_.data(), targets_.empty()
                             ? labels_.data()
                             : reinterpret_cast<const std::int32_t*>(targets_.data())});
  }

  void read_activations(RunResult& result) {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto& tensor = graph_.tensors[i];
      if (tensor.role != Role::activation && tensor.role != Role::output)
        continue;
      if (!options_.memory.offsets.empty())
        continue;
      auto& values = result.activations[tensor.name];
      values.resize(static_cast<std::size_t>(tensor.shape.elements()));
      if (const auto read = executable_->read_tensor(*stream_, tensor.name, values); !read)
        FAIL(read.error().to_string());
    }
  }

  void read_slots(RunResult& result) {
    const auto& layout = executable_->layout();
    for (const auto& slot : layout.parameters)
      result.gradients[slot.name] = load(slot, gradients_[static_cast<std::size_t>(slot.unit)]);
    for (const auto& slot : layout.statistics)
      result.statistics[slot.name] = load(slot, statistics_);
    for (const auto& unit : gradients_)
      result.raw_gradients.insert(result.raw_gradients.end(), unit.begin(), unit.end());
  }

  const Graph& graph_;
  RunOptions options_;
  std::unique_ptr<cpu::HostDevice> device_ = cpu::make_host_device(0, 2);
  std::unique_ptr<Executable> executable_;
  std::vector<std::vector<float>> parameters_, gradients_;
  std::vector<float> statistics_, images_, targets_;
  std::vector<std::int32_t> labels_;
  std::unique_ptr<Stream> stream_; ///< last: it ends before what its work uses
};

} // namespace

RunResult run_graph(const Graph& graph, const RunOptions& options) {
  return Run{graph, options}();
}

void require_close(const Values& values, const Values& expected, float relative) {
  REQUIRE(values.size() == expected.size());
  for (const auto& [name, wanted] : expected) {
    INFO(name);
    const auto& got = values.at(name);
    REQUIRE(got.size() == wanted.size());
    float scale = 1e-6f, worst = 0;
    for (const float value : wanted)
      scale = std::max(scale, std::abs(value));
    std::size_t at = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const float error = std::abs(got[i] - wanted[i]);
      if (!(error <= worst)) {
        worst = error;
        at = i;
      }
    }
    INFO("element " << at << ": " << got[at] << ", expected " << wanted[at] << ", scale " << scale);
    REQUIRE(worst <= 1e-5f + relative * scale);
  }
}

void require_close_on_average(const Values& values, const Values& expected, float relative) {
  REQUIRE(values.size() == expected.size());
  const auto norm = [](const std::vector<float>& tensor) {
    double sum = 0;
    for (const float value : tensor)
      sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum);
  };
  double largest = 0;
  for (const auto& [name, wanted] : expected)
    largest = std::max(largest, norm(wanted));
  for (const auto& [name, wanted] : expected) {
    INFO(name);
    auto difference = values.at(name);
    REQUIRE(difference.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      difference[i] -= wanted[i];
    REQUIRE(norm(difference) <=
            static_cast<double>(relative) * std::max(norm(wanted), largest / 4));
  }
}

} // namespace troupe::tests
