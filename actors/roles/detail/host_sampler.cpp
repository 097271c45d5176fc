#include "actors/roles/detail/host_sampler.hpp"

#include "actors/roles/checkpointer.hpp"
#include "actors/roles/shard_manager.hpp"
#include "actors/roles/worker.hpp"
#include "metrics/machine/process_use.hpp"

#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>
#include <caf/telemetry/metric.hpp>
#include <caf/telemetry/metric_family.hpp>
#include <caf/telemetry/metric_registry.hpp>

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

/// Returns how long messages wait, by role: the sums of CAF's counters over all actors of the role.
std::vector<metrics::MailboxSample> sample_mailboxes(caf::actor_system& system) {
  Collector collector;
  system.metrics().collect(collector);
  std::vector<metrics::MailboxSample> samples;
  for (auto& [name, sample] : collector.samples)
    samples.push_back(std::move(sample));
  return samples;
}

} // namespace

HostSampler::HostSampler(const training::Generation& generation) : work_{generation.loader_work} {
  for (const auto& batches : {generation.job().training, generation.job().evaluation})
    if (batches)
      batches_.push_back(batches);
  const auto ranks = std::ssize(generation.rank_states);
  counts_ = {{WorkerState::name, ranks}, {ShardManagerState::name, ranks}};
  if (generation.job().config.checkpoint.is_sharded())
    counts_[CheckpointerState::name] = ranks;
  for (const auto& rank_state : generation.rank_states)
    if (const auto& id = rank_state->device().info().id; !id.empty())
      gpus_.push_back({rank_state->rank, id});
  if (gpus_.empty())
    return;
  if (auto opened = metrics::Nvml::open())
    nvml_ = std::move(*opened);
}

metrics::LoaderSample HostSampler::loader() const {
  metrics::LoaderSample sample{.batches = work_->batches(), .seconds = work_->seconds()};
  for (const auto& batches : batches_)
    sample.decode_seconds += batches->adapter().dataset().decode_seconds();
  return sample;
}

std::vector<metrics::MailboxSample> HostSampler::actors(caf::actor_system& system) const {
  auto all = sample_mailboxes(system);
  for (auto& sample : all)
    if (const auto count = counts_.find(sample.actor); count != counts_.end())
      sample.count = count->second;
  return all;
}

void HostSampler::sample(metrics::Registry& registry) {
  registry.record(metrics::host_memory());
  if (work_)
    registry.record(loader());
  for (const auto& [rank, id] : gpus_)
    if (nvml_) {
      auto gpu = nvml_->sample(id);
      gpu.rank = rank;
      registry.record(gpu);
    }
}

} // namespace troupe::actors
