/// The output of `troupe predict`: predictions and scores as text, JSON or CSV.
#pragma once

#include "inference/predict.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::app {

/// The meaning of a model's outputs.
enum class OutputKind : std::uint8_t {
  probabilities, ///< of classes, computed from logits
  scores,        ///< of classes, but not probabilities: mean_squared_error on labels
  values,        ///< a table's targets
};

struct PredictionForm {
  std::string format = "text"; ///< text, json, csv
  OutputKind kind = OutputKind::probabilities;
  bool logits = false; ///< raw outputs instead of probabilities; JSON contains all of them
  std::vector<std::string> names; ///< of classes (empty: numbers) or of targets
  std::string model, weights;     ///< name and file, for JSON
  std::string sample_name;        ///< "images"
  bool each = true;               ///< print every prediction, not only the score
};

/// Receives the next part of the text.
using WriteText = std::function<Status(std::string_view)>;

/// Writes the text in parts, so that it is never in memory as a whole.
class PredictionWriter {
public:
  PredictionWriter(PredictionForm form, WriteText write)
      : form_{std::move(form)}, write_{std::move(write)} {}
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;
  virtual ~PredictionWriter() = default;

  virtual Status begin() { return {}; }
  /// Reports only the error if `prediction` has one.
  virtual Status add(const std::string& input, const inference::SamplePrediction& prediction) = 0;
  /// `split`: empty if there is no score.
  virtual Status end(const std::string& split, const inference::Score& score) = 0;

protected:
  const PredictionForm& form() const { return form_; }
  Status write(std::string_view text) const { return write_(text); }
  std::string name(std::int32_t output) const;
  bool shows_probabilities() const {
    return form_.kind == OutputKind::probabilities && !form_.logits;
  }
  struct Shown {
    std::int32_t output;
    double value; ///< a probability, or the raw output
  };
  /// The ranked outputs, best first; if the outputs are values, all of them, in the model's order.
  std::vector<Shown> shown(const inference::SamplePrediction& prediction) const;

private:
  PredictionForm form_;
  WriteText write_;
};

/// Precondition: `format` is text, json or csv.
std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionForm form, WriteText write);

} // namespace troupe::app
