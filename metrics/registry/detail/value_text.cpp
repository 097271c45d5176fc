#include "metrics/registry/detail/value_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace troupe::metrics {

namespace {

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

std::string_view name_of(MetricType type) {
  return type == MetricType::counter ? "counter"
         : type == MetricType::gauge ? "gauge"
                                     : "histogram";
}

} // namespace

void write_escaped(std::string& text, std::string_view value) {
  for (const char c : value)
    if (c == '\n')
      text += "\\n";
    else if (c == '\\' || c == '"')
      text.append("\\").push_back(c);
    else
      text += c;
}

void write_head(std::string& text, const MetricName& metric) {
  text.append("# HELP ").append(metric.name).append(" ").append(metric.help).append("\n");
  text.append("# TYPE ").append(metric.name).append(" ").append(name_of(metric.type)).append("\n");
}

void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Gauge& gauge) {
  write_sample(text, name, "", labels, gauge.Value());
}

void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Counter& counter) {
  write_sample(text, name, "", labels, counter.Value());
}

void write_value(std::string& text, std::string_view name, std::string_view labels,
                 const prometheus::Histogram& histogram) {
  const auto collected = histogram.Collect().histogram;
  write_sample(text, name, "_count", labels, static_cast<double>(collected.sample_count));
  write_sample(text, name, "_sum", labels, collected.sample_sum);
  for (const auto& bucket : collected.bucket) // the bound of the last bucket is infinite
    write_bucket(text, name, labels, bucket);
}

} // namespace troupe::metrics
