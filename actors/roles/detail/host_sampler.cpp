#include "host_sampler.hpp"

#include "mailboxes.hpp"

#include "troupe/metrics/machine/host_memory.hpp"

namespace troupe::actors {

HostSampler::HostSampler(const engine::Generation& generation) : work_{generation.loader_work} {
  for (const auto& batches : {generation.job().training, generation.job().evaluation})
    if (batches)
      batches_.push_back(batches);
  for (const auto& replica : generation.replicas)
    if (const auto& id = replica->device().info().id; !id.empty())
      gpus_.push_back({replica->rank, id});
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

void HostSampler::sample(caf::actor_system& system, metrics::Registry& registry) {
  for (const auto& mailbox : sample_mailboxes(system))
    registry.record(mailbox);
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
