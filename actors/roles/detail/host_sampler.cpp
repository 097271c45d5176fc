#include "actors/roles/detail/host_sampler.hpp"

#include "actors/roles/checkpointer.hpp"
#include "actors/roles/detail/mailboxes.hpp"
#include "actors/roles/shard_manager.hpp"
#include "actors/roles/worker.hpp"
#include "metrics/machine/host_memory.hpp"

namespace troupe::actors {

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

std::vector<metrics::ActorSample> HostSampler::actors(caf::actor_system& system) const {
  std::vector<metrics::ActorSample> all;
  for (auto& mailbox : sample_mailboxes(system)) {
    const auto count = counts_.find(mailbox.actor);
    all.push_back({std::move(mailbox), count != counts_.end() ? count->second : 1});
  }
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
