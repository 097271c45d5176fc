#include "core/fail.hpp"
#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

/// Labels as classes; negative ones are not counted. If none is counted, loss and gradients are 0.
struct Labels {
  std::vector<std::int64_t> classes;
  double counted = 0;
};

Result<Labels> read_labels(const Operands& operands, std::size_t input, std::int64_t classes) {
  Labels labels;
  for (const double value : operands.read(input)) {
    const auto label = static_cast<std::int64_t>(value);
    if (label >= classes)
      return fail(Errc::data, "a label is {}, but there are {} classes", label, classes);
    labels.classes.push_back(label);
    labels.counted += label >= 0 ? 1 : 0;
  }
  return labels;
}

Values softmax(const double* logits, std::size_t classes) {
  const double most = *std::max_element(logits, logits + classes);
  Values p(classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c)
    sum += p[c] = std::exp(logits[c] - most);
  for (auto& value : p)
    value /= sum;
  return p;
}

/// Returns the divisor of sums over rows.
double mean_rows(const Operands& operands, double counted) {
  const double rows = operands.attributes<LossAttributes>().rows;
  return rows > 0 ? rows : counted;
}

double log_sum_exp(const double* logits, std::size_t classes) {
  const double most = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c)
    sum += std::exp(logits[c] - most);
  return most + std::log(sum);
}

/// Returns the target probability of a class (Szegedy et al. 2016, section 7).
double smoothed(std::int64_t label, std::size_t c, std::size_t classes, double smoothing) {
  return (static_cast<std::int64_t>(c) == label ? 1 - smoothing : 0) +
         smoothing / static_cast<double>(classes);
}

/// Returns the loss of one row of logits, whose log_sum_exp is `total`.
double row_loss(const double* logits, std::size_t classes, double total, std::int64_t label,
                double smoothing) {
  double loss = 0;
  for (std::size_t c = 0; c < classes; ++c)
    loss += smoothed(label, c, classes, smoothing) * (total - logits[c]);
  return loss;
}

/// Returns the factor of gradients: input `i`, or 1 if that input is missing.
double loss_scale(const Operands& operands, std::size_t i = 2) {
  return operands.inputs() == i + 1 ? operands.read(i)[0] : 1;
}

/// x * weight^T, row by row.
class LogitRows {
public:
  explicit LogitRows(const Operands& operands)
      : x{operands.read(0)}, weight{operands.read_weight(1, 0)},
        width{operands.input(1).shape.size(1)}, classes{operands.input(1).shape.size(0)} {}

  Values operator()(std::size_t row) const {
    Values logits(classes);
    for (std::size_t c = 0; c < classes; ++c)
      for (std::size_t i = 0; i < width; ++i)
        logits[c] += x[row * width + i] * weight[c * width + i];
    return logits;
  }

  const Values x, weight;
  const std::size_t width, classes;
};

/// Returns the gradient of the logits from their probabilities.
Values cross_entropy_gradient(const Operands& operands, Values d, const Labels& labels) {
  const auto classes = operands.input(0).shape.size(1);
  const double smoothing = double{operands.attributes<LossAttributes>().label_smoothing};
  const double scale = loss_scale(operands), rows = mean_rows(operands, labels.counted);
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto label = labels.classes[i / classes];
    const double difference = d[i] - smoothed(label, i % classes, classes, smoothing);
    d[i] = label < 0 ? 0 : difference / rows * scale;
  }
  return d;
}

/// Counts the rows whose first largest logit is the label's.
double correct_rows(const Operands& operands, const Values& logits, const Labels& labels) {
  const auto classes = static_cast<std::ptrdiff_t>(operands.input(0).shape[1]);
  double correct = 0;
  for (std::size_t n = 0; n < labels.classes.size(); ++n) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n) * classes;
    correct += std::max_element(row, row + classes) - row == labels.classes[n] ? 1 : 0;
  }
  return correct;
}

/// prediction - target, 0 in rows that are not counted; the number of counted rows, and the number
/// of elements of the mean.
struct Differences {
  Values values;
  double counted = 0, elements = 0;
};

Result<Differences> differences(const Operands& operands) {
  const auto columns = operands.input(0).shape.size(1);
  const bool regression = operands.input(1).dtype == DType::f32;
  Differences d{operands.read(0)};
  const auto target = regression ? operands.read(1) : Values{};
  Labels labels;
  if (!regression) {
    TROUPE_TRY(labels, read_labels(operands, 1, operands.input(0).shape[1]));
  }
  for (std::size_t i = 0; i < d.values.size(); ++i) {
    const auto row = i / columns, c = i % columns;
    const bool ignored = regression ? std::isnan(target[i - c]) : labels.classes[row] < 0;
    const double wanted = regression ? target[i] : smoothed(labels.classes[row], c, columns, 0);
    d.values[i] = ignored ? 0 : d.values[i] - wanted;
    d.counted += !ignored && c == 0 ? 1 : 0;
  }
  d.elements = mean_rows(operands, d.counted) * static_cast<double>(columns);
  return d;
}

} // namespace

Status softmax_cross_entropy(const Operands& operands) {
  const auto logits = operands.read(0);
  const auto classes = operands.input(0).shape.size(1);
  TROUPE_TRY(const auto labels, read_labels(operands, 1, operands.input(0).shape[1]));
  const auto& a = operands.attributes<LossAttributes>();
  Values probabilities;
  double loss = 0;
  for (std::size_t n = 0; n < labels.classes.size(); ++n) {
    const auto* row = &logits[n * classes];
    const auto p = softmax(row, classes);
    probabilities.insert(probabilities.end(), p.begin(), p.end());
    if (labels.classes[n] < 0)
      continue;
    loss += row_loss(row, classes, log_sum_exp(row, classes), labels.classes[n],
                     double{a.label_smoothing});
  }
  const double rows = mean_rows(operands, labels.counted);
  if (a.gradient) {
    for (auto& value : probabilities)
      value = round_to(DType::f32, value); // as if they had been stored
    probabilities = cross_entropy_gradient(operands, std::move(probabilities), labels);
  }
  operands.write(0, {rows > 0 ? loss / rows : 0});
  operands.write(1, probabilities);
  operands.write(2, {labels.counted});
  if (a.correct)
    operands.write(3, {correct_rows(operands, logits, labels)});
  return {};
}

Status softmax_cross_entropy_backward(const Operands& operands) {
  TROUPE_TRY(const auto labels, read_labels(operands, 1, operands.input(0).shape[1]));
  operands.write(0, cross_entropy_gradient(operands, operands.read(0), labels));
  return {};
}

Status mean_squared_error(const Operands& operands) {
  TROUPE_TRY(const auto d, differences(operands));
  double sum = 0;
  for (const double value : d.values)
    sum += value * value;
  operands.write(0, {d.elements > 0 ? sum / d.elements : 0});
  operands.write(1, {d.counted});
  return {};
}

Status mean_squared_error_backward(const Operands& operands) {
  TROUPE_TRY(auto d, differences(operands));
  for (auto& value : d.values)
    value = d.elements > 0 ? 2 * value / d.elements * loss_scale(operands) : 0;
  operands.write(0, d.values);
  return {};
}

Status count_correct(const Operands& operands) {
  TROUPE_TRY(const auto labels, read_labels(operands, 1, operands.input(0).shape[1]));
  operands.write(0, {correct_rows(operands, operands.read(0), labels)});
  return {};
}

Status linear_cross_entropy(const Operands& operands) {
  const LogitRows rows{operands};
  TROUPE_TRY(const auto labels, read_labels(operands, 2, operands.input(1).shape[0]));
  const double smoothing = double{operands.attributes<LossAttributes>().label_smoothing};
  Values totals;
  double loss = 0;
  for (std::size_t n = 0; n < labels.classes.size(); ++n) {
    const auto logits = rows(n);
    totals.push_back(log_sum_exp(logits.data(), rows.classes));
    if (labels.classes[n] >= 0)
      loss += row_loss(logits.data(), rows.classes, totals[n], labels.classes[n], smoothing);
  }
  const double divisor = mean_rows(operands, labels.counted);
  operands.write(0, {divisor > 0 ? loss / divisor : 0});
  operands.write(1, totals);
  operands.write(2, {labels.counted});
  return {};
}

Status linear_cross_entropy_backward(const Operands& operands) {
  const LogitRows rows{operands};
  TROUPE_TRY(const auto labels, read_labels(operands, 2, operands.input(1).shape[0]));
  const auto& a = operands.attributes<LossAttributes>();
  const auto totals = a.loss ? Values{} : operands.read(3);
  const double smoothing = double{a.label_smoothing};
  const double divisor = mean_rows(operands, labels.counted);
  const double factor = loss_scale(operands, a.loss ? 3 : 4) / divisor;
  Values dx(rows.x.size()), dweight(rows.weight.size());
  double loss = 0;
  for (std::size_t n = 0; n < labels.classes.size(); ++n) {
    if (labels.classes[n] < 0)
      continue;
    const auto logits = rows(n);
    const double exact = a.loss ? log_sum_exp(logits.data(), rows.classes) : totals[n];
    const double total = round_to(DType::f32, exact); // as it is stored
    loss += row_loss(logits.data(), rows.classes, exact, labels.classes[n], smoothing);
    for (std::size_t c = 0; c < rows.classes; ++c) {
      const double target = smoothed(labels.classes[n], c, rows.classes, smoothing);
      const double d = (std::exp(logits[c] - total) - target) * factor;
      for (std::size_t i = 0; i < rows.width; ++i) {
        dx[n * rows.width + i] += d * rows.weight[c * rows.width + i];
        dweight[c * rows.width + i] += d * rows.x[n * rows.width + i];
      }
    }
  }
  operands.write(0, dx);
  operands.write(1, dweight);
  if (a.loss) {
    operands.write(2, {divisor > 0 ? loss / divisor : 0});
    operands.write(3, {labels.counted});
  }
  return {};
}

} // namespace troupe::cpu
