#include "app/prediction_text.hpp"

#include "core/escape.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace troupe::app {

namespace {

using inference::SamplePrediction;
using inference::Score;
using Json = metrics::OrderedJson;
using metrics::dumped;
using metrics::number_or_null;

/// The denominator of the largest output's probability, which is 1 / sum. exp(x - largest) cannot
/// overflow.
double exponential_sum(std::span<const float> outputs, double largest) {
  double sum = 0;
  for (const float output : outputs)
    sum += std::exp(double{output} - largest);
  return sum;
}

class TextWriter final : public PredictionWriter {
public:
  using PredictionWriter::PredictionWriter;

  Status add(const std::string& input, const SamplePrediction& prediction) override {
    if (prediction.error) // reported on stderr
      return {};
    std::vector<std::string> parts;
    for (const auto& [output, value] : shown(prediction))
      parts.push_back(part(escaped(name(output)), value));
    return write(fmt::format("{}: {}\n", escaped(input), fmt::join(parts, ", ")));
  }

  Status end(const std::string& split, const Score& score) override {
    if (split.empty())
      return {};
    auto text =
        fmt::format("{}: {} {}", split, metrics::format_count(score.samples), form().sample_name);
    if (score.unreadable > 0)
      text += fmt::format(", {} unreadable", metrics::format_count(score.unreadable));
    if (const auto accuracy = score.accuracy())
      text += fmt::format(", accuracy {:.2f}%", 100 * *accuracy);
    if (const auto top5 = score.top5())
      text += fmt::format(", top-5 {:.2f}%", 100 * *top5);
    if (const auto loss = score.loss())
      text += ", loss " + metrics::format_loss(*loss);
    return write(text + "\n");
  }

private:
  std::string part(const std::string& name, double value) const {
    if (form().kind == OutputKind::values)
      return fmt::format("{} = {:.6g}", name, value);
    return shows_probabilities() ? fmt::format("{} {:.1f}%", name, 100 * value)
                                 : fmt::format("{} {:.6g}", name, value);
  }
};

class JsonWriter final : public PredictionWriter {
public:
  using PredictionWriter::PredictionWriter;

  Status begin() override {
    return write(fmt::format("{{\n  \"model\": {},\n  \"weights\": {}{}", dumped(form().model),
                             dumped(form().weights), form().each ? ",\n  \"predictions\": [" : ""));
  }

  Status add(const std::string& input, const SamplePrediction& prediction) override {
    Json entry = {{"input", input}};
    if (prediction.error)
      entry["error"] = prediction.error->message;
    else if (form().kind == OutputKind::values)
      add_values(entry, prediction);
    else
      add_classes(entry, prediction);
    const auto* const separator = first_ ? "\n" : ",\n";
    first_ = false;
    return write(fmt::format("{}    {}", separator, dumped(entry)));
  }

  Status end(const std::string& split, const Score& score) override {
    auto text = std::string{form().each ? "\n  ]" : ""};
    if (!split.empty())
      text +=
          fmt::format(",\n  \"split\": {}", dumped({{"name", split},
                                                    {"samples", score.samples},
                                                    {"unreadable", score.unreadable},
                                                    {"accuracy", number_or_null(score.accuracy())},
                                                    {"top5_accuracy", number_or_null(score.top5())},
                                                    {"loss", number_or_null(score.loss())}}));
    return write(text + "\n}\n");
  }

private:
  void add_values(Json& entry, const SamplePrediction& prediction) const {
    for (const auto& [output, value] : shown(prediction))
      entry["values"][name(output)] = number_or_null(value);
  }

  void add_classes(Json& entry, const SamplePrediction& prediction) const {
    const char* const what = shows_probabilities() ? "probability" : "score";
    Json classes = Json::array();
    for (const auto& [output, value] : shown(prediction))
      classes.push_back(
          {{"label", output}, {"class", name(output)}, {what, number_or_null(value)}});
    entry["classes"] = std::move(classes);
    if (form().logits) {
      Json all = Json::array();
      for (const float output : prediction.outputs)
        all.push_back(number_or_null(double{output}));
      entry["logits"] = std::move(all);
    }
  }

  bool first_ = true;
};

/// Quotes a cell (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  std::string quoted = "\"";
  for (const char letter : text)
    quoted += letter == '"' ? std::string{"\"\""} : std::string{letter};
  return quoted + "\"";
}

class CsvWriter final : public PredictionWriter {
public:
  using PredictionWriter::PredictionWriter;

  Status begin() override {
    if (!form().each)
      return write("split,samples,unreadable,accuracy,top5_accuracy,loss\n");
    if (form().kind != OutputKind::values)
      return write(fmt::format("input,rank,label,class,{}\n",
                               shows_probabilities() ? "probability" : "score"));
    std::string head = "input";
    for (const auto& target : form().names)
      head += "," + cell(target);
    return write(head + "\n");
  }

  Status add(const std::string& input, const SamplePrediction& prediction) override {
    if (prediction.error)
      return {};
    const bool is_table = form().kind == OutputKind::values;
    auto rows = is_table ? cell(input) : std::string{};
    int rank = 0;
    for (const auto& [output, value] : shown(prediction))
      rows += is_table ? fmt::format(",{:.9g}", value)
                       : fmt::format("{},{},{},{},{:.9g}\n", cell(input), ++rank, output,
                                     cell(name(output)), value);
    return write(is_table ? rows + "\n" : rows);
  }

  /// Omits the score if predictions are printed: it is not a row of the same table.
  Status end(const std::string& split, const Score& score) override {
    if (form().each)
      return {};
    const auto share = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.9g}", *value) : std::string{};
    };
    return write(fmt::format("{},{},{},{},{},{}\n", split, score.samples, score.unreadable,
                             share(score.accuracy()), share(score.top5()), share(score.loss())));
  }
};

} // namespace

std::string PredictionWriter::name(std::int32_t output) const {
  const auto i = static_cast<std::size_t>(output);
  return i < form_.names.size() ? form_.names[i] : std::to_string(output);
}

std::vector<PredictionWriter::Shown>
PredictionWriter::shown(const SamplePrediction& prediction) const {
  const auto& outputs = prediction.outputs;
  std::vector<Shown> shown;
  if (form_.kind == OutputKind::values) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      shown.push_back({static_cast<std::int32_t>(i), double{outputs[i]}});
    return shown;
  }
  for (const auto i : prediction.ranked)
    shown.push_back({i, double{outputs[static_cast<std::size_t>(i)]}});
  if (!shows_probabilities() || shown.empty())
    return shown;
  const double largest = shown.front().value;
  const double sum = exponential_sum(outputs, largest);
  for (auto& [output, value] : shown)
    value = std::exp(value - largest) / sum;
  return shown;
}

std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionForm form, WriteText write) {
  if (form.format == "json")
    return std::make_unique<JsonWriter>(std::move(form), std::move(write));
  if (form.format == "csv")
    return std::make_unique<CsvWriter>(std::move(form), std::move(write));
  return std::make_unique<TextWriter>(std::move(form), std::move(write));
}

} // namespace troupe::app
