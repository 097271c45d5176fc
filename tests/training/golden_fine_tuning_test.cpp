// Compares a ResNet-20 with a frozen part and different learning rates with PyTorch's requires_grad
// and parameter groups in float64 (tests/golden/record_fine_tuning.py).
//
// The error of the first losses may be three times that of PyTorch's float32 runs, plus the
// rounding of a few operations. Later losses differ more: rounding decides whether a relu whose
// input is almost zero passes its gradient, and training amplifies that.
//
// Tensors are compared with the distance that training moved them. AdamW's first updates have the
// size of the learning rate for any gradient, so rounding that flips the sign of a few small
// gradients costs a few updates of that size; a wrong rate costs at least half of the distance.
#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "nn/compile.hpp"
#include "nn/initialize.hpp"
#include "nn/learning_rates.hpp"
#include "nn/optimizer.hpp"
#include "tests/nn/golden_recipe.hpp"
#include "training/state/model_state.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <map>

using namespace troupe;
using namespace troupe::training;
using namespace troupe::nn::test;

namespace {

/// Returns the config of the run, made only from the golden file.
Config config_of(const nlohmann::json& golden, const nlohmann::json& run) {
  Config config;
  config.model.name = "resnet20";
  config.data.image_size = golden.at("image_size");
  config.train.freeze = golden.at("freeze").get<std::vector<std::string>>();
  config.train.lr_scale = golden.at("lr_scale").get<std::map<std::string, double>>();
  const auto& arguments = run.at("arguments");
  config.train.optimizer = {
      .name = choice_named<OptimizerKind>(run.at("name").get_ref<const std::string&>()).value(),
      .lr = arguments.at("lr"),
      .momentum = arguments.value("momentum", 0.0),
      .weight_decay = arguments.at("weight_decay")};
  return config;
}

class GoldenRun {
public:
  GoldenRun(const nlohmann::json& golden, const nlohmann::json& run)
      : config_{config_of(golden, run)}, optimizer_{
                                             nn::optimizer_arguments(config_.train.optimizer)} {
    const std::int64_t batch = golden.at("batch");
    auto model = nn::prepare_model(config_, batch, nn::PassMode::training,
                                   {.fuse = nn::FusePatterns::all()});
    REQUIRE(model);
    const auto images = (*model).graph[*model->graph.find("images")].shape.elements();
    images_ = golden_uniform(golden.at("images"), static_cast<std::size_t>(images));
    labels_ = golden_labels(batch, config_.model.num_classes);
    CompileOptions options;
    options.threads = 2;
    options.memory = model->memory;
    auto compiled = device_->compile(model->graph, options);
    REQUIRE(compiled);
    executable_ = std::move(*compiled);
    make_state(model->graph);
  }

  double step(std::int64_t step) {
    StepOutputs outputs;
    REQUIRE(executable_->set_batch(
        at_addresses(executable_->batch(), {images_.data(), labels_.data()})));
    executable_->refresh_all(*stream_);
    executable_->run(*stream_);
    executable_->read_outputs(*stream_, &outputs);
    const auto arguments = nn::at_step(optimizer_, step, config_.train.optimizer.lr);
    for (const auto& chunk : state_->buffers().part().kept_chunks())
      device_->optimizer_step(*stream_, at_rate(arguments, chunk.rate), chunk, nullptr, nullptr);
    REQUIRE(stream_->synchronize());
    return outputs["loss"];
  }

  std::vector<float> tensor(const std::string& name) const {
    const auto& layout = state_->layout().storage();
    const auto found = std::ranges::find(layout.parameters, name, &Slot::name);
    if (found != layout.parameters.end())
      return decoded(*found, state_->buffers().parameters(found->unit) + found->offset);
    const auto statistic = std::ranges::find(layout.statistics, name, &Slot::name);
    REQUIRE(statistic != layout.statistics.end());
    return decoded(*statistic, state_->statistics().values() + statistic->offset);
  }
  /// Returns the values of a tensor before the first step.
  const std::vector<float>& initial(const std::string& name) const { return initial_.at(name); }
  std::size_t tensors() const {
    return state_->layout().storage().parameters.size() +
           state_->layout().storage().statistics.size();
  }

private:
  void make_state(const Graph& graph) {
    const auto& layout = executable_->layout();
    auto state = ModelState::create(*device_, layout,
                                    {.optimizer_slots = optimizer_slot_names(optimizer_),
                                     .rates = nn::parameter_rates(config_.train, layout)});
    REQUIRE(state);
    state_ = *state;
    std::vector<std::vector<float>> values;
    Checkpoint start;
    const auto ids = nn::initialized_tensors(graph);
    values.reserve(ids.size());
    for (const auto id : ids) {
      values.push_back(golden_parameter(graph[id].name, graph[id].shape));
      start.tensors.push_back({graph[id].name, graph[id].shape, values.back()});
      initial_.emplace(graph[id].name, values.back());
    }
    REQUIRE(state_->load(*stream_, *state_in_memory(start)));
    bind(*executable_, *state_);
  }

  static std::vector<float> decoded(const Slot& slot, const float* stored) {
    std::vector<float> values(static_cast<std::size_t>(slot.shape.elements()));
    if (slot.codec)
      slot.codec->decode({stored, slot.elements}, values);
    else
      std::copy_n(stored, values.size(), values.begin());
    return values;
  }

  Config config_;
  OptimizerArguments optimizer_;
  std::unique_ptr<cpu::HostDevice> device_ = cpu::make_host_device(0, 2);
  std::unique_ptr<Stream> stream_ = device_->create_stream({.threads = 2});
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<ModelState> state_;
  std::map<std::string, std::vector<float>> initial_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

} // namespace

TEST_CASE("frozen modules and learning rates of modules match PyTorch") {
  const auto golden = read_golden("fine_tuning.json");
  for (const auto& expected : golden.at("runs")) {
    INFO(expected.at("name"));
    GoldenRun run{golden, expected};
    const auto losses = expected.at("losses").get<std::vector<double>>();
    const auto allowed = 3 * expected.at("pytorch_f32_error").get<double>();
    for (std::size_t step = 0; step < losses.size(); ++step) {
      INFO("step " << step);
      const auto amplified = step < 2 ? 16 * 0x1p-23 : 1e-3;
      CHECK(std::abs(run.step(static_cast<std::int64_t>(step)) - losses[step]) <=
            allowed + amplified * losses[step]);
    }
    const auto& tensors = expected.at("tensors");
    CHECK(tensors.size() == run.tensors());
    for (const auto& [name, digest] : tensors.items()) {
      INFO(name);
      const auto samples = digest.at("samples").get<std::vector<float>>();
      // Frozen parameters have not moved.
      const auto error = distance(golden_samples(run.tensor(name)), samples);
      const auto moved = distance(golden_samples(run.initial(name)), samples);
      CHECK(error <= 0.05 * moved + 1e-7);
    }
  }
}
