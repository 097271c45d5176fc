/// Config of a trained model, for inference only.
#pragma once

#include "core/config/config.hpp"

namespace troupe::training {

/// Resets all settings that only training uses. The result has one worker, on any device, and no
/// augmentation.
Config without_training(Config config);

} // namespace troupe::training
