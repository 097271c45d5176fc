/// The series of each metric by their labels, and their text in Prometheus's format 0.0.4.
#pragma once

#include "metrics/metric_name.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <atomic>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// In the order of the metric's label names.
using LabelValues = std::initializer_list<std::string_view>;

/// kind="weights",rank="0": the labels as in the text format, sorted by name.
std::string label_text(const MetricName& metric, LabelValues values);
prometheus::Labels labels_of(const MetricName& metric, LabelValues values);

/// Writes the lines # HELP and # TYPE.
void write_head(std::string& text, const MetricName& metric);

// Write one line, or several for a histogram. `labels` has the format of label_text().
void write_value(std::string& text, std::string_view name, std::string_view labels, double value);
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Histogram& histogram);

/// `Value` is prometheus::Gauge, Counter or Histogram. prometheus-cpp owns and counts the series.
/// Its collect copies every label at each scrape, so the text is written here. Thread-safe.
template <class Value>
class Family {
public:
  Family(const MetricName& metric, prometheus::Family<Value>& values)
      : metric_{metric}, values_{values} {}

  /// Returns the series of these labels; creates it on first use, constructed from `more`.
  template <class... More>
  Value& value(LabelValues labels, const More&... more) {
    auto text = label_text(metric_, labels);
    const std::lock_guard lock{mutex_};
    const auto found = series_.find(text);
    if (found != series_.end())
      return *found->second;
    auto& made = values_.Add(labels_of(metric_, labels), more...);
    series_.emplace(std::move(text), &made);
    return made;
  }

  void forget() {
    const std::lock_guard lock{mutex_};
    for (const auto& [labels, value] : series_)
      values_.Remove(value);
    series_.clear();
  }

  /// Writes nothing if the family has no series.
  void write(std::string& text) const {
    const std::lock_guard lock{mutex_};
    if (!series_.empty())
      write_head(text, metric_);
    for (const auto& [labels, value] : series_)
      if constexpr (std::same_as<Value, prometheus::Histogram>)
        write_value(text, metric_.name, labels, *value);
      else
        write_value(text, metric_.name, labels, value->Value());
  }

private:
  const MetricName& metric_;
  prometheus::Family<Value>& values_;
  mutable std::mutex mutex_;
  std::map<std::string, Value*, std::less<>> series_;
};

/// One family of series for each metric in names::all(). Thread-safe.
class Families {
public:
  Families();

  /// Sets a gauge.
  void set(const MetricName& metric, double value, LabelValues labels = {});

  /// Removes all series of the metric, of any type.
  void forget(const MetricName& metric);

  // Adds to counters. Ignores amounts that are not finite: a counter would keep a NaN or an
  // infinity.
  void add(const MetricName& metric, double amount, LabelValues labels = {});
  /// Raises a counter to a total that is counted elsewhere.
  void raise(const MetricName& metric, double total, LabelValues labels = {});

  /// Adds to a histogram.
  void observe(const MetricName& metric, double seconds);
  /// Exports a counter or histogram without labels from now on, at 0: Prometheus only sees
  /// increases of a series that it has scraped before.
  void begin(const MetricName& metric);

  /// Returns Prometheus text format 0.0.4.
  std::string text() const;
  /// Returns all series for prometheus-cpp's serializer, which is slower than text().
  std::vector<prometheus::MetricFamily> collect() const { return registry_.Collect(); }

private:
  prometheus::Histogram& histogram(const MetricName& metric);

  prometheus::Registry registry_;
  std::map<std::string_view, Family<prometheus::Gauge>> gauges_;
  std::map<std::string_view, Family<prometheus::Counter>> counters_;
  std::map<std::string_view, Family<prometheus::Histogram>> histograms_;
  mutable std::atomic<std::size_t> last_size_ = 0; ///< size of the last text
};

} // namespace troupe::metrics
