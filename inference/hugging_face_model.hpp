/// Opens a Hugging Face folder as a trained model.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/catalogue.hpp"
#include "core/config/config.hpp"
#include "training/platforms/platform.hpp"

#include <filesystem>

namespace troupe::inference {

/// Returns the config that `troupe config import huggingface` makes of the folder. `say` receives a
/// warning for each unknown key. If the folder has no tokenizer, data.tokenizer names the folder,
/// so that opening it reports what is missing; a vocabulary of bytes needs none. Errors
/// (invalid_input): those of the import.
Result<Config> config_of_hugging_face(const std::filesystem::path& folder,
                                      const training::SayLine& say, const Catalogue& catalogue);

/// Returns the weights that the config's model takes from the folder. Errors: those of
/// open_hugging_face; invalid_input for a tensor of an unsupported type.
Result<StateSourcePtr> weights_of_hugging_face(const std::filesystem::path& folder,
                                               const Config& config);

} // namespace troupe::inference
