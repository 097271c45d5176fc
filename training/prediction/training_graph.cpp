#include "training/prediction/training_graph.hpp"

#include "core/config/augmentation.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "training/platforms/platforms.hpp"

namespace troupe::training {

Result<Graph> training_graph(const Config& config) {
  const auto devices = platform_of(config.devices).make_devices(config, {});
  TROUPE_TRY(const auto device, devices->add());
  TROUPE_TRY(auto engine, devices->engine_options(0));
  engine.passes.input = devices->preferred_input(may_augment_on_device(config.data));
  const auto slices = config.slices();
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices; // the largest
  TROUPE_TRY(auto model,
             nn::prepare_model(config, micro_batch, nn::PassMode::training, engine.passes));
  return std::move(model.graph);
}

} // namespace troupe::training
