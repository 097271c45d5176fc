// The interpreter as an engine of the host device: streams, flat buffers, codecs, memory plans.
#include "graph_runner.hpp"

#include "troupe/core/executable.hpp"
#include "troupe/cpu/host_device.hpp"
#include "troupe/nn/compile.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

constexpr std::int64_t batch = 2;

PreparedModel prepare(Purpose purpose) {
  Config config;
  config.model.name = "resnet20";
  config.data.image_size = 8;
  auto ready = prepare_model(
      config, batch, purpose,
      {.fuse = FusePatterns::all(), .amp_bf16 = false, .memory = {.keep = {"logits"}}});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return *ready;
}

/// Stores values in reverse order with one element of padding.
struct ReversingCodec final : ParameterCodec {
  void encode(std::span<const float> canonical, std::span<float> stored) const override {
    std::ranges::reverse_copy(canonical, stored.begin());
    stored.back() = 0;
  }
  void decode(std::span<const float> stored, std::span<float> canonical) const override {
    std::ranges::reverse_copy(stored.first(canonical.size()), canonical.begin());
  }
};

/// An executable with its buffers, run for one batch.
struct Company {
  std::unique_ptr<cpu::HostDevice> device = cpu::make_host_device(0, 1);
  std::unique_ptr<Stream> stream = device->create_stream({});
  std::unique_ptr<Executable> executable;
  std::vector<std::vector<float>> parameters, gradients;
  std::vector<float> statistics;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  StepOutputs outputs;

  Company(const Graph& graph, const CompileOptions& options) {
    auto compiled = device->compile(graph, options);
    INFO((compiled ? "" : compiled.error().to_string()));
    REQUIRE(compiled.has_value());
    executable = std::move(*compiled);
    const auto& layout = executable->layout();
    for (std::size_t unit = 0; unit < layout.unit_elements.size(); ++unit) {
      parameters.emplace_back(layout.unit_elements[unit]);
      gradients.emplace_back(layout.unit_elements[unit]);
    }
    statistics.resize(layout.statistic_elements);
    GraphRunner values{graph};
    values.fill();
    for (const auto& slot : layout.parameters)
      encode(slot, values.get(slot.name), parameters[static_cast<std::size_t>(slot.unit)]);
    for (const auto& slot : layout.statistics)
      encode(slot, values.get(slot.name), statistics);
    images = values.get("images");
    for (const float label : values.get("labels"))
      labels.push_back(static_cast<std::int32_t>(label));
    for (std::size_t unit = 0; unit < parameters.size(); ++unit)
      executable->bind(static_cast<UnitId>(unit), parameters[unit].data(), gradients[unit].data());
    executable->bind_statistics(statistics.data());
  }

  ~Company() { stream.reset(); }

  static void encode(const Slot& slot, const std::vector<float>& values, std::vector<float>& to) {
    const auto stored = std::span{to}.subspan(slot.offset, slot.elements);
    if (slot.codec)
      slot.codec->encode(values, stored);
    else
      std::ranges::copy(values, stored.begin());
  }

  std::vector<float> decode(const Slot& slot, const std::vector<float>& from) const {
    std::vector<float> values(static_cast<std::size_t>(slot.shape.elements()));
    const auto stored = std::span{from}.subspan(slot.offset, slot.elements);
    if (slot.codec)
      slot.codec->decode(stored, values);
    else
      std::ranges::copy(stored, values.begin());
    return values;
  }

  void run(bool backward) {
    const auto units = static_cast<UnitId>(parameters.size());
    executable->set_batch({images.data(), labels.data()});
    for (UnitId unit = 0; unit < units; ++unit) {
      executable->refresh(*stream, unit);
      executable->forward(*stream, unit);
    }
    executable->read_outputs(*stream, &outputs);
    for (UnitId unit = units; backward && unit-- > 0;)
      executable->backward(*stream, unit);
    const auto done = stream->synchronize();
    INFO((done ? "" : done.error().to_string()));
    REQUIRE(done.has_value());
  }
};

CompileOptions options_for(const MemoryPlan& memory, const StorageLayout* layout = nullptr) {
  CompileOptions options;
  options.engine = CompileOptions::Engine::interpreter;
  options.memory = memory;
  options.layout = layout;
  return options;
}

} // namespace

TEST_CASE("the interpreter gives what its ops give, with and without a memory plan") {
  const auto ready = prepare(Purpose::training);
  GraphRunner expected{ready.graph};
  expected.fill();
  expected.run();
  for (const bool planned : {false, true}) {
    Company company{ready.graph, options_for(planned ? ready.memory : MemoryPlan{})};
    company.run(true);
    CHECK(company.outputs.loss == expected.get("loss")[0]);
    CHECK(company.outputs.correct == expected.get("correct")[0]);
    for (const auto& slot : company.executable->layout().parameters)
      CHECK(company.decode(slot, company.gradients[static_cast<std::size_t>(slot.unit)]) ==
            expected.get(slot.name + ".grad"));
    for (const auto& slot : company.executable->layout().statistics)
      CHECK(company.decode(slot, company.statistics) == expected.get(slot.name));
    std::vector<float> logits(20);
    REQUIRE(company.executable->read_tensor(*company.stream, "logits", logits).has_value());
    REQUIRE(company.stream->synchronize().has_value());
    CHECK(logits == expected.get("logits"));
  }
}

TEST_CASE("the interpreter reads and writes another engine's layout") {
  const auto ready = prepare(Purpose::training);
  Company plain{ready.graph, options_for({})};
  auto layout = plain.executable->layout();
  std::ranges::fill(layout.unit_elements, 0u);
  for (auto& slot : layout.parameters) {
    auto& end = layout.unit_elements[static_cast<std::size_t>(slot.unit)];
    slot.codec = std::make_shared<ReversingCodec>();
    slot.offset = end;
    end += ++slot.elements;
  }
  Company coded{ready.graph, options_for({}, &layout)};
  plain.run(true);
  coded.run(true);
  CHECK(coded.outputs.loss == plain.outputs.loss);
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const auto& slot = layout.parameters[i];
    const auto unit = static_cast<std::size_t>(slot.unit);
    CHECK(coded.decode(slot, coded.gradients[unit]) ==
          plain.decode(plain.executable->layout().parameters[i], plain.gradients[unit]));
  }
}

TEST_CASE("an evaluation graph runs on the buffers of training") {
  const auto training = prepare(Purpose::training), evaluation = prepare(Purpose::evaluation);
  Company train{training.graph, options_for(training.memory)};
  Company evaluate{evaluation.graph, options_for(evaluation.memory, &train.executable->layout())};
  evaluate.run(false);
  GraphRunner expected{evaluation.graph};
  expected.fill();
  expected.run();
  CHECK(evaluate.outputs.loss == expected.get("loss")[0]);
}

TEST_CASE("tensors that are unknown, not kept or of another size cannot be read") {
  const auto ready = prepare(Purpose::evaluation);
  Company company{ready.graph, options_for(ready.memory)};
  std::vector<float> room(20);
  auto& e = *company.executable;
  CHECK_FALSE(e.read_tensor(*company.stream, "logist", room).has_value());
  CHECK_FALSE(e.read_tensor(*company.stream, "flatten", room).has_value());
  CHECK_FALSE(e.read_tensor(*company.stream, "logits", std::span{room}.first(3)).has_value());
  CHECK(e.read_tensor(*company.stream, "logits", room).has_value());
  CHECK(company.stream->synchronize().has_value());
}

TEST_CASE("a label that is no class fails the stream with an error of the data") {
  const auto ready = prepare(Purpose::evaluation);
  Company company{ready.graph, options_for(ready.memory)};
  company.labels[1] = 10;
  company.executable->set_batch({company.images.data(), company.labels.data()});
  for (UnitId unit = 0; unit < static_cast<UnitId>(company.parameters.size()); ++unit)
    company.executable->forward(*company.stream, unit);
  const auto done = company.stream->synchronize();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == Errc::data);
  CHECK(done.error().message == "a label is 10, but there are 10 classes");
}
