// Counts traffic, operations and launches of a training step on a GPU, without the GPU. Prints one
// JSON object with the device's rates and each piece of work. bench/gpu/count makes tables of it;
// docs/gpu-count.md has the rules.
#include "bench/gpu/described_gpu.hpp"
#include "bench/gpu/language_shape.hpp"
#include "bench/gpu/rates_json.hpp"
#include "bench/gpu/step_count.hpp"
#include "core/config/load.hpp"
#include "core/fail.hpp"
#include "nn/config_check.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

using namespace troupe;
using namespace troupe::bench;
using Json = nlohmann::ordered_json;

namespace {

constexpr int wrong_input = 2;

struct Arguments {
  std::string config, device;
  std::vector<std::string> overrides;
};

struct Described {
  std::unique_ptr<gpu::PlanRegistry> plans;
  PeakOperations peak;
};

Result<Described> open_description(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return fail(Errc::invalid_input, "{} cannot be read", file);
  const std::string json{std::istreambuf_iterator<char>{in}, {}};
  TROUPE_TRY(const auto library, gpu::open_cudnn(gpu::library_places_of_process()));
  TROUPE_TRY(auto target, target_of_properties(library, json));
  TROUPE_TRY(const auto properties, parse_json(json));
  const auto peak = gpu::peak_operations(described_clocks(properties, target.sm()));
  auto plans = std::make_unique<gpu::PlanRegistry>(std::move(target));
  return Described{std::move(plans), peak};
}

Json json_of(const CountedWork& work) {
  return {{"kind", work.kind},
          {"what", work.what},
          {"unit", work.unit},
          {"read", work.traffic.read},
          {"written", work.traffic.written},
          {"operations", work.traffic.operations},
          {"operation_class", to_string(work.traffic.operation_class)},
          {"launches", work.traffic.launches}};
}

/// Null for models that take no tokens. The peak is that of 16-bit products; 0: unknown.
Result<Json> language_json(const Config& config, const PeakOperations& peak) {
  TROUPE_TRY(const auto shape, language_shape(config));
  if (!shape)
    return Json{};
  return Json{{"tokens", config.data.batch_size * shape->sequence},
              {"sequence", shape->sequence},
              {"layers", shape->layers},
              {"width", shape->width},
              {"heads", shape->heads},
              {"kv_heads", shape->kv_heads},
              {"hidden", shape->hidden},
              {"vocabulary", shape->vocabulary},
              {"parameters", shape->parameters},
              {"operations_per_token", shape->operations_per_token},
              {"peak", peak.narrow}};
}

Result<Json> count(const Config& config, const std::string& device) {
  TROUPE_TRY(const auto described, open_description(device));
  TROUPE_TRY(const auto works, count_step(config, *described.plans));
  TROUPE_TRY(const auto language, language_json(config, described.peak));
  auto device_json = rates_json(described.plans->rates());
  device_json["name"] = described.plans->target().key();
  Json result{{"model", config.model.name},
              {"precision", to_string(config.precision.mode)},
              {"batch", config.data.batch_size},
              {"slices", config.slices()},
              {"size", config.data.image_size},
              {"classes", config.model.num_classes},
              {"optimizer", to_string(config.train.optimizer.name)},
              {"language", language},
              {"device", device_json}};
  for (const auto& work : works)
    result["work"].push_back(json_of(work));
  return result;
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Counts what a training step on a CUDA device moves, computes and launches"};
  app.add_option("config", arguments.config, "The config file")->required();
  app.add_option("--set", arguments.overrides, "Override a config key (KEY=VALUE)");
  app.add_option("--device", arguments.device, "A file that describes the device")->required();
  CLI11_PARSE(app, argc, argv);

  const auto config = load_config(arguments.config, arguments.overrides, Capabilities::all(),
                                  nn::model_catalogue());
  if (!config) {
    for (const auto& problem : config.error())
      fmt::print(stderr, "{}\n", problem.to_string());
    return wrong_input;
  }
  const auto counted = count(*config, arguments.device);
  if (!counted) {
    fmt::print(stderr, "bench_gpu_count: {}\n", counted.error().to_string());
    return counted.error().exit_code();
  }
  fmt::print("{}\n", counted->dump());
}
