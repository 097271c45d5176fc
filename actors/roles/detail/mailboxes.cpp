#include "actors/roles/detail/mailboxes.hpp"

#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>
#include <caf/telemetry/metric.hpp>
#include <caf/telemetry/metric_family.hpp>
#include <caf/telemetry/metric_registry.hpp>

#include <map>
#include <string>

namespace troupe::actors {

namespace {

/// Callback of metric_registry::collect for every metric.
class Collector {
public:
  template <class Value>
  void operator()(const caf::telemetry::metric_family* family, const caf::telemetry::metric* metric,
                  const Value* value) {
    if (family->prefix() == "caf.actor")
      take(family->name(), sample_of(*metric), *value);
  }

  std::map<std::string, metrics::MailboxSample> samples;

private:
  metrics::MailboxSample& sample_of(const caf::telemetry::metric& metric) {
    std::string actor;
    for (const auto& label : metric.labels())
      if (label.name() == "name")
        actor.assign(label.value().begin(), label.value().end());
    auto& sample = samples[actor];
    sample.actor = actor;
    return sample;
  }

  static void take(const std::string& name, metrics::MailboxSample& sample,
                   const caf::telemetry::dbl_histogram& value) {
    if (name == "mailbox-time") {
      sample.seconds = value.sum();
      for (const auto& bucket : value.buckets())
        sample.messages += bucket.count.value();
    } else if (name == "processing-time") {
      sample.processing_seconds = value.sum();
    }
  }
  static void take(const std::string& name, metrics::MailboxSample& sample,
                   const caf::telemetry::int_gauge& value) {
    if (name == "mailbox-size")
      sample.size = value.value();
  }
  template <class Other>
  static void take(const std::string&, metrics::MailboxSample&, const Other&) {}
};

} // namespace

std::vector<metrics::MailboxSample> sample_mailboxes(caf::actor_system& system) {
  Collector collector;
  system.metrics().collect(collector);
  std::vector<metrics::MailboxSample> samples;
  for (auto& [name, sample] : collector.samples)
    samples.push_back(std::move(sample));
  return samples;
}

} // namespace troupe::actors
