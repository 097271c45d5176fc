/// Prometheus's text format 0.0.4.
#pragma once

#include "metrics/registry/metric_name.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <string>
#include <string_view>

namespace troupe::metrics {

/// # HELP and # TYPE.
void write_head(std::string& text, const MetricName& metric);

// A line, or as many as a histogram takes; `labels` as label_text() makes them.
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Gauge& gauge);
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Counter& counter);
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Histogram& histogram);

/// What is in quotes.
void write_escaped(std::string& text, std::string_view value);

} // namespace troupe::metrics
