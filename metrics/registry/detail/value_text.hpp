/// Prometheus's text format 0.0.4.
#pragma once

#include "metrics/metric_name.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <string>
#include <string_view>

namespace troupe::metrics {

/// Writes the lines # HELP and # TYPE.
void write_head(std::string& text, const MetricName& metric);

// Write one line, or several for a histogram. `labels` has the format of label_text().
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Gauge& gauge);
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Counter& counter);
void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Histogram& histogram);

/// Escapes a value for use in quotes.
void write_escaped(std::string& text, std::string_view value);

} // namespace troupe::metrics
