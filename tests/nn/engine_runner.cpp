#include "tests/nn/engine_runner.hpp"

#include "core/device/rounded_executable.hpp"
#include "nn/learning_rates.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace troupe::nn::test {

namespace {

const Slot& find(const std::vector<Slot>& slots, const std::string& name) {
  const auto found = std::ranges::find(slots, name, &Slot::name);
  INFO("slot " << name);
  REQUIRE(found != slots.end());
  return *found;
}

void encode(const Slot& slot, const std::vector<float>& values, std::vector<float>& to) {
  const auto stored = std::span{to}.subspan(slot.offset, slot.elements);
  if (slot.codec)
    slot.codec->encode(values, stored);
  else
    std::ranges::copy(values, stored.begin());
}

} // namespace

EngineRunner::EngineRunner(const Graph& graph, Engine engine, const MemoryPlan& memory,
                           const StorageLayout* layout, Precision precision)
    : stored_{stored_type(precision)}, loss_scale_{scales_loss(precision) ? 1024.0f : 1.0f} {
  CompileOptions options;
  options.engine = engine;
  options.threads = 2;
  options.memory = memory;
  options.layout = layout;
  auto compiled = device_->compile(graph, options);
  INFO((compiled ? "" : compiled.error().to_string()));
  REQUIRE(compiled.has_value());
  executable_ = stored_ == DType::f32
                    ? std::move(*compiled)
                    : with_rounded_results(std::move(*compiled), *device_, {stored_, stored_});
  for (const auto elements : executable_->layout().unit_elements)
    for (auto* buffers : {&parameters_, &gradients_})
      buffers->emplace_back(elements);
  statistics_.resize(executable_->layout().statistic_elements);
  for (std::size_t unit = 0; unit < parameters_.size(); ++unit)
    executable_->bind(static_cast<UnitId>(unit), parameters_[unit].data(), gradients_[unit].data());
  executable_->bind_statistics(statistics_.data());
  executable_->bind_loss_scale(&loss_scale_);
}

EngineRunner::~EngineRunner() {
  stream_.reset(); // enqueued work still uses the buffers
}

void EngineRunner::fill(const Values& values) {
  for (const auto& slot : executable_->layout().parameters)
    encode(slot, values(slot.name, slot.shape), parameters_[static_cast<std::size_t>(slot.unit)]);
  for (const auto& slot : executable_->layout().statistics)
    encode(slot, values(slot.name, slot.shape), statistics_);
  for (auto& parameters : parameters_)
    device_->round(*stream_, parameters.data(), stored_, parameters.size());
  REQUIRE(stream_->synchronize().has_value()); // the next fill overwrites the source
}

void EngineRunner::set_batch(std::vector<float> images, std::vector<std::int32_t> labels) {
  images_ = std::move(images);
  labels_ = std::move(labels);
}

void EngineRunner::set_tokens(std::vector<std::int32_t> tokens, std::vector<std::int32_t> labels) {
  tokens_ = std::move(tokens);
  labels_ = std::move(labels);
}

Status EngineRunner::run(bool backward) {
  const auto units = static_cast<UnitId>(parameters_.size());
  void* const input = tokens_.empty() ? static_cast<void*>(images_.data()) : tokens_.data();
  REQUIRE(executable_->set_batch(at_addresses(executable_->batch(), {input, labels_.data()})));
  for (UnitId unit = 0; unit < units; ++unit) {
    executable_->refresh(*stream_, unit);
    executable_->forward(*stream_, unit);
  }
  executable_->read_outputs(*stream_, &outputs_);
  for (UnitId unit = units; backward && unit-- > 0;)
    executable_->backward(*stream_, unit);
  return stream_->synchronize();
}

void EngineRunner::update(OptimizerArguments arguments, DecayScope decay) {
  for (auto* state :
       {&state0_, &state1_}) // allocated here because large models that are never updated need none
    for (auto unit = state->size(); unit < parameters_.size(); ++unit)
      state->emplace_back(parameters_[unit].size());
  arguments.gradient_scale /= loss_scale_;
  arguments.stored = stored_;
  for (const auto& slot : executable_->layout().parameters) {
    auto of_slot = arguments;
    if (!decays({.decay = decay}, slot.shape))
      of_slot.weight_decay = 0;
    const auto at = [&](Buffers& buffers) {
      return buffers[static_cast<std::size_t>(slot.unit)].data() + slot.offset;
    };
    device_->optimizer_step(
        *stream_, of_slot,
        {at(parameters_), at(gradients_), at(state0_), at(state1_), slot.elements}, nullptr,
        nullptr);
  }
  REQUIRE(stream_->synchronize().has_value());
}

std::vector<float> EngineRunner::decode(const Slot& slot, const std::vector<float>& from) const {
  std::vector<float> values(static_cast<std::size_t>(slot.shape.elements()));
  const auto stored = std::span{from}.subspan(slot.offset, slot.elements);
  if (slot.codec)
    slot.codec->decode(stored, values);
  else
    std::ranges::copy(stored, values.begin());
  return values;
}

std::vector<float> EngineRunner::parameter(const std::string& name) const {
  const auto& slot = find(executable_->layout().parameters, name);
  return decode(slot, parameters_[static_cast<std::size_t>(slot.unit)]);
}

std::vector<float> EngineRunner::gradient(const std::string& name) const {
  const auto& slot = find(executable_->layout().parameters, name);
  auto values = decode(slot, gradients_[static_cast<std::size_t>(slot.unit)]);
  for (auto& value : values)
    value /= loss_scale_;
  return values;
}

std::vector<float> EngineRunner::statistic(const std::string& name) const {
  return decode(find(executable_->layout().statistics, name), statistics_);
}

std::vector<float> EngineRunner::tensor(const std::string& name, std::size_t elements) {
  std::vector<float> values(elements);
  const auto found = executable_->read_tensor(*stream_, name, values);
  INFO((found ? "" : found.error().to_string()));
  REQUIRE(found.has_value());
  REQUIRE(stream_->synchronize().has_value());
  return values;
}

} // namespace troupe::nn::test
