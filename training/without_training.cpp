#include "training/without_training.hpp"

#include "core/config/augmentation.hpp"

namespace troupe::training {

Config without_training(Config config) {
  config.train = {};
  config.parallel = {};
  config.devices = {};
  config.cluster = {};
  config.checkpoint = {};
  config.metrics = {};
  config.precision.loss_scale = {};
  config.model.pretrained.reset();
  config.model.sync_batch_norm = false;
  if (is_resampled(config.data)) // data.augment may have requested it
    config.data.eval_resize = eval_resize(config.data);
  config.data.augment.clear(); // training only
  return config;
}

} // namespace troupe::training
