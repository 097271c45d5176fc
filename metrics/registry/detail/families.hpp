/// One family of series for each metric in names::all(). Thread-safe.
#pragma once

#include "metrics/registry/detail/family.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

class Families {
public:
  Families();

  /// Sets a gauge.
  void set(const MetricName& metric, double value, LabelValues labels = {});
  /// Removes the series.
  void forget(const MetricName& metric, LabelValues labels);

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
