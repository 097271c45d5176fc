// `troupe predict`: predictions of a trained model for files, folders, rows of tables or a split of
// its data set.
#include "app/add_command.hpp"
#include "app/prediction_text.hpp"
#include "core/atomic_file.hpp"
#include "core/config/data_sets.hpp"
#include "core/fail.hpp"
#include "data/file_notes.hpp"
#include "inference/inputs.hpp"
#include "nn/models/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace troupe::app {

namespace {

/// For files, whose images may be large; for a split the config's batch size is used.
constexpr std::int64_t default_batch = 32;

struct PredictArguments {
  inference::SavedModelOptions model;
  std::vector<std::string> inputs;
  std::string split, format = "text", output, device, precision;
  std::int64_t top = 5, batch = 0, threads = 0;
  bool logits = false, each = false;
};

inference::SavedModelOptions saved_model_options(const PredictArguments& arguments) {
  auto options = arguments.model;
  const auto set = [&](const char* key, const std::string& value) {
    options.overrides.push_back(fmt::format("{}={}", key, value));
  };
  if (!arguments.device.empty())
    set("devices.kind", arguments.device);
  if (!arguments.precision.empty())
    set("precision.mode", arguments.precision);
  if (arguments.threads > 0)
    set("devices.threads_per_worker", std::to_string(arguments.threads));
  if (arguments.batch > 0)
    set("data.eval_batch_size", std::to_string(arguments.batch));
  return options;
}

OutputKind kind_of(const Config& config) {
  if (config.model.loss != LossKind::mean_squared_error)
    return OutputKind::probabilities;
  return nn::input_spec(config).target_kind == nn::TargetKind::values ? OutputKind::values
                                                                      : OutputKind::scores;
}

Status print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    return fail(Errc::io, "standard output: {}", std::strerror(errno));
  return {};
}

PredictionForm form_of(const PredictArguments& arguments, const inference::SavedModel& model,
                       const data::Adapter& adapter) {
  const auto kind = kind_of(model.config);
  return {.format = arguments.format,
          .kind = kind,
          .logits = arguments.logits,
          .names =
              kind == OutputKind::values ? model.config.data.table.targets : model.card.class_names,
          .model = model.config.model.name,
          .weights = model.file.string(),
          .sample_name = std::string{adapter.sample_name()},
          .each = arguments.split.empty() || arguments.each};
}

Result<inference::Inputs> open(const PredictArguments& arguments,
                               const inference::SavedModel& model) {
  if (!arguments.split.empty())
    return inference::open_split(model, arguments.split == "train" ? data::Split::train
                                                                   : data::Split::test);
  return inference::open_inputs(
      model, std::vector<std::filesystem::path>{arguments.inputs.begin(), arguments.inputs.end()});
}

Status refuse_tokens(const Config& config) {
  if (traits_of_data(config.data).sample != SampleKind::tokens)
    return {};
  return fail(Errc::invalid_input,
              "{} is a language model: `troupe evaluate` measures how well it predicts text",
              config.model.name);
}

/// Predicts; reports unreadable inputs on stderr.
Result<inference::Score> run(const PredictArguments& arguments, const Catalogue& catalogue) {
  TROUPE_TRY(auto model, inference::open_saved_model(saved_model_options(arguments), catalogue));
  TROUPE_TRY(refuse_tokens(model.config));
  TROUPE_TRY(const auto inputs, open(arguments, model));
  std::ranges::for_each(inputs.notes, say_line);
  auto& batch = model.config.data.eval_batch_size;
  if (arguments.split.empty() && arguments.batch == 0)
    batch = std::min(batch, default_batch);
  batch = std::clamp<std::int64_t>(inputs.adapter->dataset().size(), 1, batch);
  TROUPE_TRY(const auto predictor, inference::Predictor::create(model, *inputs.adapter, say_line));
  std::optional<AtomicFile> file; // empty: standard output
  if (!arguments.output.empty()) {
    TROUPE_TRY(auto created, AtomicFile::create(arguments.output));
    file.emplace(std::move(created));
  }
  const auto writer = make_prediction_writer(
      form_of(arguments, model, *inputs.adapter),
      [&file](std::string_view text) { return file ? file->write(text) : print(text); });
  const bool each = arguments.split.empty() || arguments.each;
  TROUPE_TRY(writer->begin());
  TROUPE_TRY(const auto score,
             inference::predict(*predictor, inputs.adapter, arguments.top,
                                [&](const inference::SamplePrediction& prediction) -> Status {
                                  if (prediction.error)
                                    report_error(prediction.error->to_string());
                                  return each ? writer->add(inputs.name(prediction.sample),
                                                            prediction)
                                              : Status{};
                                }));
  if (const auto damaged = inputs.adapter->damaged())
    std::ranges::for_each(damaged->take_lines(), say_line);
  TROUPE_TRY(writer->end(arguments.split, score));
  if (file)
    TROUPE_TRY(file->commit());
  return score;
}

Result<int> predict(const PredictArguments& arguments, const Catalogue& catalogue) {
  if (arguments.inputs.empty() == arguments.split.empty())
    return report_wrong_input(
        "give either INPUTs (files or folders) or a split of the data set (--split test)");
  TROUPE_TRY(const auto score, run(arguments, catalogue));
  if (score.unreadable == 0)
    return success;
  report_error(fmt::format("{} of {} inputs could not be read", score.unreadable, score.samples));
  return score.unreadable == score.samples ? wrong_input : run_failed;
}

} // namespace

void add_predict_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<PredictArguments>(
      app, action, "predict",
      "Run a trained model on files, folders, tables, or a split of its data set", predict);
  add_model_arguments(command, arguments.model);
  add_value(command, "input", "INPUT", arguments.inputs,
            "Images and folders of images; for a model of table rows, CSV files");
  add_choice(command, "--split", {"train", "test"}, arguments.split,
             "Predict this split of the model's data set, and print accuracy and loss");
  command.add_flag("--each", arguments.each, "With --split: also print every prediction");
  add_number(command, "--top", arguments.top, CLI::Range(1, 1 << 20), "Classes to print per input");
  add_choice(command, "--format", {"text", "json", "csv"}, arguments.format, "text, json or csv");
  command.add_flag("--logits", arguments.logits,
                   "Print the model's raw outputs instead of probabilities; in JSON all of them");
  add_value(command, "-o,--output", "FILE", arguments.output,
            "Write to this file instead of stdout");
  command.add_option("--device", arguments.device, "cpu, cuda or auto (devices.kind)");
  command.add_option("--precision", arguments.precision,
                     "Precision of the prediction; default: that of the training (precision.mode)");
  command.add_option("--batch", arguments.batch, "Inputs per batch")->check(CLI::Range(1, 1 << 20));
  command.add_option("--threads", arguments.threads, "CPU threads; default: all cores")
      ->check(CLI::Range(1, 1 << 16));
}

} // namespace troupe::app
