#include "app/model_arguments.hpp"

#include "app/report_error.hpp"

#include <CLI/CLI.hpp>

namespace troupe::app {

inference::SavedModelOptions ModelArguments::options() const {
  inference::SavedModelOptions options{.path = path, .overrides = overrides};
  options.say = [](const std::string& line) { say_line(line); };
  if (!config.empty())
    options.config = config;
  if (!class_names.empty())
    options.class_names = class_names;
  return options;
}

void add_model_arguments(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("model", arguments.path,
                  "A weights file (.safetensors), a checkpoint, a run's folder (runs/NAME) or a "
                  "Hugging Face folder")
      ->required()
      ->type_name("MODEL");
  command
      .add_option("--config", arguments.config,
                  "The model's config, if the weights file does not contain it")
      ->type_name("FILE");
  command
      .add_option("--class-names", arguments.class_names,
                  "File of class names, one per line, to use instead of the weights file's")
      ->type_name("FILE");
  command
      .add_option("--set", arguments.overrides,
                  "Override a key of the model's config: --set data.root=datasets/cifar10")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

} // namespace troupe::app
