#include "families.hpp"

#include "../names.hpp"

#include <prometheus/text_serializer.h>

#include <cmath>

namespace troupe::metrics {

namespace {

/// Seconds, from a step on a large GPU to one of a large model on few cores.
constexpr std::initializer_list<double> step_buckets = {
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
    0.2,   0.3,    0.5,   0.75, 1,    2.5,  5,    10,    30};
/// Of what comes now and then: evaluations, checkpoints.
constexpr std::initializer_list<double> long_buckets = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                        2.5,  5,     10,   30,  60,   120, 600};

prometheus::Labels labels_of(const MetricName& metric, LabelValues values) {
  prometheus::Labels labels;
  std::size_t i = 0;
  for (const auto& value : values)
    labels.emplace(metric.labels[i++], value);
  return labels;
}

} // namespace

Families::Families() {
  const auto build = [this](auto builder, const MetricName& metric) {
    return &builder.Name(std::string(metric.name))
                .Help(std::string(metric.help))
                .Register(registry_);
  };
  for (const auto& metric : names::all)
    if (metric.type == MetricType::gauge)
      gauges_[metric.name] = build(prometheus::BuildGauge(), metric);
    else if (metric.type == MetricType::counter)
      counters_[metric.name] = build(prometheus::BuildCounter(), metric);
    else
      histograms_[metric.name] = build(prometheus::BuildHistogram(), metric);
}

void Families::set(const MetricName& metric, double value, LabelValues labels) {
  gauges_.at(metric.name)->Add(labels_of(metric, labels)).Set(value);
}

void Families::set(const MetricName& metric, const std::optional<double>& value,
                   LabelValues labels) {
  if (value)
    set(metric, *value, labels);
}

void Families::forget(const MetricName& metric, LabelValues labels) {
  auto& family = *gauges_.at(metric.name);
  family.Remove(&family.Add(labels_of(metric, labels)));
}

void Families::add(const MetricName& metric, double amount, LabelValues labels) {
  auto& counter = counters_.at(metric.name)->Add(labels_of(metric, labels));
  if (std::isfinite(amount) && amount > 0)
    counter.Increment(amount);
}

void Families::raise(const MetricName& metric, double total, LabelValues labels) {
  const auto told = counters_.at(metric.name)->Add(labels_of(metric, labels)).Value();
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
      ->Add({}, prometheus::Histogram::BucketBoundaries(of_steps ? step_buckets : long_buckets));
}

std::string Families::text() const {
  return prometheus::TextSerializer{}.Serialize(registry_.Collect());
}

} // namespace troupe::metrics
