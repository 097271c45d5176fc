#include "training_graph.hpp"

#include "../platforms/platforms.hpp"

#include "troupe/core/config/config.hpp"

namespace troupe::engine {

Result<Graph> training_graph(const Config& config) {
  const auto devices = platform_of(config.devices).make_devices(config, {});
  const auto device = devices->add();
  if (!device)
    return failure(device.error());
  auto engine = devices->engine_options(0);
  if (!engine)
    return failure(engine.error());
  engine->passes.input = devices->preferred_input(config.data.dataset != "image_folder" &&
                                                  config.data.dataset != "csv");
  const auto slices = config.workers() * config.train.accumulate;
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices; // the largest
  auto model = nn::prepare_model(config, micro_batch, nn::Purpose::training, engine->passes);
  if (!model)
    return failure(model.error());
  return std::move(model->graph);
}

} // namespace troupe::engine
