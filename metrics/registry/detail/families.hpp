/// A family of values for each name of the list, and what may be done with them. Any thread may
/// call anything.
#pragma once

#include "metrics/registry/detail/family.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

class Families {
public:
  Families();

  // Of gauges. Nothing is set where there is no value.
  void set(const MetricName& metric, double value, LabelValues labels = {});
  void set(const MetricName& metric, const std::optional<double>& value, LabelValues labels = {});
  /// It is told no more.
  void forget(const MetricName& metric, LabelValues labels);

  /// Of any type, with whatever labels: it is told no more.
  void forget(const MetricName& metric);

  // Of counters. One to which a NaN or an infinity was added would keep it: that is left out.
  void add(const MetricName& metric, double amount, LabelValues labels = {});
  /// Follows a total that is counted elsewhere.
  void raise(const MetricName& metric, double total, LabelValues labels = {});

  /// Of histograms.
  void observe(const MetricName& metric, double seconds);
  /// A counter or histogram without labels is told from now on: Prometheus sees only the rise of
  /// what was there before.
  void begin(const MetricName& metric);

  /// Prometheus text format 0.0.4.
  std::string text() const;
  /// The same as prometheus-cpp's own serializer takes it, which costs more.
  std::vector<prometheus::MetricFamily> collect() const { return registry_.Collect(); }

private:
  prometheus::Histogram& histogram(const MetricName& metric);

  prometheus::Registry registry_;
  std::map<std::string_view, Family<prometheus::Gauge>> gauges_;
  std::map<std::string_view, Family<prometheus::Counter>> counters_;
  std::map<std::string_view, Family<prometheus::Histogram>> histograms_;
  mutable std::atomic<std::size_t> last_size_ = 0; ///< of the text
};

} // namespace troupe::metrics
