/// The config of a trained model, for programs that only compute with it.
#pragma once

#include "core/config/config.hpp"

namespace troupe::training {

/// Resets everything that only training uses: the result has one worker, on any device, and no
/// augmentation.
Config without_training(Config config);

} // namespace troupe::training
