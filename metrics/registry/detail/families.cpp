#include "metrics/registry/detail/families.hpp"

#include "metrics/registry/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace troupe::metrics {

namespace {

/// In seconds, from a step on a large GPU to a step of a large model on few cores.
constexpr std::initializer_list<double> step_buckets = {
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
    0.2,   0.3,    0.5,   0.75, 1,    2.5,  5,    10,    30};
/// In seconds, for rare events: evaluations, checkpoints.
constexpr std::initializer_list<double> long_buckets = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                        2.5,  5,     10,   30,  60,   120, 600};

template <class Value, class Builder>
void add_family(std::map<std::string_view, Family<Value>>& families, Builder builder,
                prometheus::Registry& registry, const MetricName& metric) {
  auto& values =
      builder.Name(std::string(metric.name)).Help(std::string(metric.help)).Register(registry);
  families.try_emplace(metric.name, metric, values);
}

template <class Value>
void write_all(std::string& text, const std::map<std::string_view, Family<Value>>& families) {
  for (const auto& [name, family] : families)
    family.write(text);
}

template <class Number>
void write_digits(std::string& text, Number number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

void write_number(std::string& text, double number) {
  constexpr double exact_below = 1LL << 53;
  if (std::isnan(number))
    text += "NaN";
  else if (std::isinf(number))
    text += number > 0 ? "+Inf" : "-Inf";
  else if (std::abs(number) < exact_below && number == std::trunc(number))
    write_digits(text, static_cast<std::int64_t>(number));
  else
    write_digits(text, number);
}

/// NAME_SUFFIX{LABELS} NUMBER
void write_sample(std::string& text, std::string_view name, std::string_view suffix,
                  std::string_view labels, double number) {
  text.append(name).append(suffix);
  if (!labels.empty())
    text.append("{").append(labels).append("}");
  text += ' ';
  write_number(text, number);
  text += '\n';
}

void write_bucket(std::string& text, std::string_view name, std::string_view labels,
                  const prometheus::ClientMetric::Bucket& bucket) {
  std::string with_bound{labels};
  with_bound += labels.empty() ? "le=\"" : ",le=\"";
  write_number(with_bound, bucket.upper_bound);
  with_bound += '"';
  write_sample(text, name, "_bucket", with_bound, static_cast<double>(bucket.cumulative_count));
}

/// By MetricType.
constexpr std::array<std::string_view, 3> type_names = {"counter", "gauge", "histogram"};

/// Escapes a value for use in quotes.
void write_escaped(std::string& text, std::string_view value) {
  for (const char c : value)
    if (c == '\n')
      text += "\\n";
    else if (c == '\\' || c == '"')
      text.append("\\").push_back(c);
    else
      text += c;
}

} // namespace

void write_head(std::string& text, const MetricName& metric) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help,
                      type_names[static_cast<std::size_t>(metric.type)]);
}

void write_value(std::string& text, std::string_view name, std::string_view labels, double value) {
  write_sample(text, name, "", labels, value);
}

void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Histogram& histogram) {
  const auto collected = histogram.Collect().histogram;
  write_sample(text, name, "_count", labels, static_cast<double>(collected.sample_count));
  write_sample(text, name, "_sum", labels, collected.sample_sum);
  for (const auto& bucket : collected.bucket) // the bound of the last bucket is infinite
    write_bucket(text, name, labels, bucket);
}

prometheus::Labels labels_of(const MetricName& metric, LabelValues values) {
  prometheus::Labels labels;
  std::size_t i = 0;
  for (const auto& value : values)
    labels.emplace(metric.labels[i++], value);
  return labels;
}

std::string label_text(const MetricName& metric, LabelValues values) {
  std::array<std::pair<std::string_view, std::string_view>, most_labels> sorted;
  const auto end = std::ranges::transform(metric.labels.begin(), metric.labels.end(),
                                          values.begin(), values.end(), sorted.begin(),
                                          [](auto name, auto value) {
                                            return std::pair{name, value};
                                          })
                       .out;
  std::sort(sorted.begin(), end);
  std::string text;
  for (auto label = sorted.begin(); label != end; ++label) {
    text.append(text.empty() ? "" : ",").append(label->first).append("=\"");
    write_escaped(text, label->second);
    text += '"';
  }
  return text;
}

Families::Families() {
  for (const auto& metric : names::all())
    if (metric.type == MetricType::gauge)
      add_family(gauges_, prometheus::BuildGauge(), registry_, metric);
    else if (metric.type == MetricType::counter)
      add_family(counters_, prometheus::BuildCounter(), registry_, metric);
    else
      add_family(histograms_, prometheus::BuildHistogram(), registry_, metric);
}

void Families::set(const MetricName& metric, double value, LabelValues labels) {
  gauges_.at(metric.name).value(labels).Set(value);
}

void Families::forget(const MetricName& metric) {
  if (metric.type == MetricType::gauge)
    gauges_.at(metric.name).forget();
  else if (metric.type == MetricType::counter)
    counters_.at(metric.name).forget();
  else
    histograms_.at(metric.name).forget();
}

void Families::add(const MetricName& metric, double amount, LabelValues labels) {
  auto& counter = counters_.at(metric.name).value(labels);
  if (std::isfinite(amount) && amount > 0)
    counter.Increment(amount);
}

void Families::raise(const MetricName& metric, double total, LabelValues labels) {
  const auto told = counters_.at(metric.name).value(labels).Value();
  add(metric, total - told, labels);
}

void Families::observe(const MetricName& metric, double seconds) {
  histogram(metric).Observe(seconds);
}

void Families::begin(const MetricName& metric) {
  if (metric.type == MetricType::counter)
    add(metric, 0);
  else
    histogram(metric);
}

prometheus::Histogram& Families::histogram(const MetricName& metric) {
  const bool of_steps = metric.name == names::step_time.name;
  return histograms_.at(metric.name)
      .value({}, prometheus::Histogram::BucketBoundaries(of_steps ? step_buckets : long_buckets));
}

std::string Families::text() const {
  std::string text;
  text.reserve(last_size_ + last_size_ / 8);
  write_all(text, counters_);
  write_all(text, gauges_);
  write_all(text, histograms_);
  last_size_ = text.size();
  return text;
}

} // namespace troupe::metrics
