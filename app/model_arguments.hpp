/// Arguments shared by the commands that use a trained model: MODEL, and options for data that it
/// lacks.
#pragma once

#include "inference/saved_model.hpp"

namespace CLI {
class App;
}

namespace troupe::app {

/// Warnings are printed on stderr.
void add_model_arguments(CLI::App& command, inference::SavedModelOptions& model);

} // namespace troupe::app
