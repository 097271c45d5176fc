#include "training_graph.hpp"

#include "../platforms/platforms.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::engine {

Result<Graph> training_graph(const Config& config) {
  const auto devices = platform_of(config.devices).make_devices(config, {});
  TROUPE_TRY(const auto device, devices->add());
  TROUPE_TRY(auto engine, devices->engine_options(0));
  engine.passes.input = devices->preferred_input(names_images_of_one_size(config));
  const auto slices = config.workers() * config.train.accumulate;
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices; // the largest
  TROUPE_TRY(auto model,
             nn::prepare_model(config, micro_batch, nn::Purpose::training, engine.passes));
  return std::move(model.graph);
}

bool names_images_of_one_size(const Config& config) {
  return config.data.dataset != "image_folder" && config.data.dataset != "csv";
}

} // namespace troupe::engine
