/// Arguments shared by the commands that use a trained model: MODEL, and options for data that it
/// lacks.
#pragma once

#include "inference/saved_model.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe::app {

struct ModelArguments {
  std::string path, config, class_names;
  std::vector<std::string> overrides;

  inference::SavedModelOptions options() const;
};

void add_model_arguments(CLI::App& command, ModelArguments& arguments);

} // namespace troupe::app
