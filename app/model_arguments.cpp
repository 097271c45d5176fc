#include "app/commands.hpp"
#include "app/report_error.hpp"
#include "inference/saved_model.hpp"

#include <CLI/CLI.hpp>

namespace troupe::app {

void add_model_arguments(CLI::App& command, inference::SavedModelOptions& model) {
  const auto add = [&command](const char* name, auto& target, const char* help) {
    const auto set = [&target](const std::string& path) {
      if (!path.empty())
        target = path;
    };
    return command.add_option_function<std::string>(name, set, help);
  };
  model.say = say_line;
  add("model", model.path,
      "A weights file (.safetensors), a checkpoint, a run's folder (runs/NAME) or a "
      "Hugging Face folder")
      ->required()
      ->type_name("MODEL");
  add("--config", model.config, "The model's config, if the weights file does not contain it")
      ->type_name("FILE");
  add("--class-names", model.class_names,
      "File of class names, one per line, to use instead of the weights file's")
      ->type_name("FILE");
  add_override_option(command, model.overrides,
                      "Override a key of the model's config: --set data.root=datasets/cifar10");
}

} // namespace troupe::app
