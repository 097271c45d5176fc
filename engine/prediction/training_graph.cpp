#include "training_graph.hpp"

#include "../devices.hpp"
#include "../feeding/fillers.hpp"

namespace troupe::engine {

Result<Graph> training_graph(const Config& config) {
  auto device = make_device(config.devices, 0);
  if (!device)
    return failure(device.error());
  auto engine = engine_options(config, **device);
  if (!engine)
    return failure(engine.error());
  engine->passes.input = preferred_input(config, config.data.dataset != "image_folder");
  const auto slices = config.workers() * config.train.accumulate;
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices; // the largest
  auto model = nn::prepare_model(config, micro_batch, nn::Purpose::training, engine->passes);
  if (!model)
    return failure(model.error());
  return std::move(model->graph);
}

} // namespace troupe::engine
