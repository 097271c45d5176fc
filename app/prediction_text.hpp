/// What `troupe predict` prints: predictions and scores as text, JSON or CSV.
#pragma once

#include "inference/predict.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::app {

/// What the outputs of a model are.
enum class OutputKind : std::uint8_t {
  probabilities, ///< of classes: logits before
  scores,        ///< of classes, that are no probabilities: mean_squared_error on labels
  values,        ///< of a table's targets
};

struct PredictionForm {
  std::string format = "text"; ///< text, json, csv
  OutputKind kind = OutputKind::probabilities;
  bool logits = false;            ///< raw outputs in place of probabilities; in JSON all of them
  std::vector<std::string> names; ///< of classes (empty: numbers) or of targets
  std::string model, weights;     ///< name and file, for JSON
  std::string sample_name;        ///< "images"
  bool each = true;               ///< every prediction, not the score alone
};

/// Takes the next piece of the whole text.
using WriteText = std::function<Status(std::string_view)>;

/// Writes one text, piece by piece, so that none of it has to be in memory.
class PredictionWriter {
public:
  PredictionWriter(PredictionForm form, WriteText write)
      : form_{std::move(form)}, write_{std::move(write)} {}
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;
  virtual ~PredictionWriter() = default;

  virtual Status begin() { return {}; }
  /// Where `prediction` has an error, nothing else is said of it.
  virtual Status add(const std::string& input, const inference::SamplePrediction& prediction) = 0;
  /// `split`: empty where there is no score.
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
    double value; ///< a probability, or the output as it is
  };
  /// The ranked outputs, in their order; all of them, in the model's, where they are values.
  std::vector<Shown> shown(const inference::SamplePrediction& prediction) const;

private:
  PredictionForm form_;
  WriteText write_;
};

/// Precondition: `format` is one of its three.
std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionForm form, WriteText write);

} // namespace troupe::app
