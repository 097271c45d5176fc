/// A Hugging Face folder as a trained model.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/catalogue.hpp"
#include "core/config/config.hpp"
#include "training/platforms/platform.hpp"

#include <filesystem>

namespace troupe::inference {

/// The config that `troupe config import huggingface` makes of the folder. `say` gets a warning for
/// each unknown key. A folder without a tokenizer is itself what data.tokenizer names, so that
/// opening it says what is missing; a vocabulary of bytes needs none. Errors (invalid_input): of
/// the import.
Result<Config> config_of_hugging_face(const std::filesystem::path& folder,
                                      const training::SayLine& say, const Catalogue& catalogue);

/// The weights that the config's model takes from the folder. Errors: of open_hugging_face;
/// invalid_input for a tensor of a type that is not read.
Result<StateSourcePtr> weights_of_hugging_face(const std::filesystem::path& folder,
                                               const Config& config);

} // namespace troupe::inference
