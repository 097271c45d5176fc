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

#include <concepts>

namespace troupe::actors {

namespace {

/// Callback of metric_registry::collect for every metric.
struct Collector {
  template <class Value>
  void operator()(const caf::telemetry::metric_family* family, const caf::telemetry::metric* metric,
                  const Value* value) {
    if (family->prefix() != "caf.actor")
      return;
    auto& sample = sample_of(*metric);
    if constexpr (std::same_as<Value, caf::telemetry::dbl_histogram>) {
      if (family->name() == "mailbox-time") {
        sample.seconds = value->sum();
        for (const auto& bucket : value->buckets())
          sample.messages += bucket.count.value();
      } else if (family->name() == "processing-time") {
        sample.processing_seconds = value->sum();
      }
    } else if constexpr (std::same_as<Value, caf::telemetry::int_gauge>) {
      if (family->name() == "mailbox-size")
        sample.size = value->value();
    }
  }
  metrics::MailboxSample& sample_of(const caf::telemetry::metric& metric) {
    std::string actor;
    for (const auto& label : metric.labels())
      if (label.name() == "name")
        actor.assign(label.value().begin(), label.value().end());
    auto& sample = samples[actor];
    sample.actor = actor;
    return sample;
  }

  std::map<std::string, metrics::MailboxSample> samples;
};

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
      gpus_.emplace_back(rank_state->rank, id);
  if (gpus_.empty())
    return;
  if (auto opened = metrics::Nvml::open())
    nvml_ = std::move(*opened);
}

/// The samples of a role are the sums of CAF's counters over all its actors.
std::vector<metrics::MailboxSample> HostSampler::actors(caf::actor_system& system) const {
  Collector collector;
  system.metrics().collect(collector);
  std::vector<metrics::MailboxSample> all;
  for (auto& [name, mailbox] : collector.samples) {
    if (const auto count = counts_.find(name); count != counts_.end())
      mailbox.count = count->second;
    all.push_back(std::move(mailbox));
  }
  return all;
}

void HostSampler::sample(metrics::Registry& registry) {
  registry.record(metrics::host_memory());
  if (work_) {
    metrics::LoaderSample loader{.batches = work_->batches(), .seconds = work_->seconds()};
    for (const auto& batches : batches_)
      loader.decode_seconds += batches->adapter().dataset().decode_seconds();
    registry.record(loader);
  }
  for (const auto& [rank, id] : gpus_)
    if (nvml_) {
      auto gpu = nvml_->sample(id);
      gpu.rank = rank;
      registry.record(gpu);
    }
}

} // namespace troupe::actors
