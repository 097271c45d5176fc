// Tests copies of parameters in fewer bits: an optimizer writes the same copies as a refresh.
#include "gpu/alignment.hpp"
#include "gpu/cuda_device.hpp"
#include "nn/compile.hpp"
#include "tests/devices/networks.hpp"
#include "tests/devices/test_device.hpp"
#include "training/initial_state.hpp"
#include "training/state/model_state.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct ModelOnDevice {
  explicit ModelOnDevice(Precision precision, nn::AutocastRegions off = {},
                         training::Strategy strategy = {})
      : device{device_or_skip()}, stream{device->create_stream({.name = "compute"})} {
    nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                           .precision = precision,
                           .autocast_off = std::move(off),
                           .memory = {.alignment = gpu::tensor_alignment}};
    auto model =
        nn::run_passes(bottleneck_network({2, 16, 16, 4}, 8), nn::PassMode::training, passes);
    REQUIRE(model);
    graph = std::move(model->graph);
    auto compiled = device->compile(graph, {.memory = model->memory});
    REQUIRE(compiled);
    executable = std::move(*compiled);
    auto made = training::ModelState::create(
        *device, executable->layout(), {.optimizer_slots = {"momentum"}, .strategy = strategy});
    REQUIRE(made);
    state = std::move(*made);
    REQUIRE(state->load(*stream, *training::initial_state(graph, 1)));
    training::bind(*executable, *state);
    state->buffers().part().write(executable->copies());
  }

  std::vector<std::uint16_t> copies() const {
    std::size_t elements = 0;
    for (const auto of_unit : executable->layout().unit_elements)
      elements += of_unit;
    std::vector<std::uint16_t> values(elements);
    device->copy(*stream, values.data(), executable->copies().data, elements * sizeof values[0]);
    REQUIRE(stream->synchronize());
    return values;
  }

  Graph graph;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Executable> executable;
  std::shared_ptr<training::ModelState> state;
};

} // namespace

TEST_CASE("an optimizer writes the same copies as a refresh") {
  for (const auto precision : {Precision::amp_fp16, Precision::amp_bf16}) {
    const ModelOnDevice run{precision};
    REQUIRE(run.state->buffers().part().writes_copies());
    CHECK(run.executable->copies().type == compute_type(precision));
    for (const auto& views : run.state->buffers().part().chunks()) {
      run.device->zero(*run.stream, run.state->buffers().gradients(0),
                       views.elements * sizeof(float));
      run.device->optimizer_step(*run.stream, {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.1f},
                                 views, nullptr, nullptr);
    }
    const auto written = run.copies();
    run.executable->refresh_all(*run.stream);
    CHECK(written == run.copies());
  }
}

TEST_CASE("copies that the optimizer of this rank does not write are refreshed") {
  const ModelOnDevice in_f32{Precision::fp32}, partly{Precision::amp_fp16, {"fc"}},
      divided{Precision::amp_fp16, {}, {.world_size = 2, .shards = 2, .divides_optimizer = true}},
      of_root{Precision::amp_fp16, {}, {.world_size = 2, .root_only = true}},
      replicated{Precision::amp_fp16, {}, {.world_size = 2}};
  for (const auto* model : {&in_f32, &partly, &divided, &of_root})
    CHECK_FALSE(model->state->buffers().part().writes_copies());
  CHECK(replicated.state->buffers().part().writes_copies());
}
