/// A stand-in for a data set whose files are missing, for uses that need only the sizes of samples.
#pragma once

#include "core/config/config.hpp"

namespace troupe::training {

/// Returns the config with a data set that needs no files and gives batches of the same size:
/// synthetic images, else samples of the model's input and target, which cannot be read. An epoch
/// has 2 steps of images, else 1000. Opening it fails (Errc::data) if data.tokenizer can be read
/// and has more tokens than the model.
Config without_data(Config config);

} // namespace troupe::training
