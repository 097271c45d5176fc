/// What METRICS looks at once a second, because nobody tells it: this host's mailboxes, loader
/// threads, memory and GPUs.
#pragma once

#include "metrics/live/live_run.hpp"
#include "metrics/machine/nvml.hpp"
#include "metrics/registry/registry.hpp"
#include "training/generation.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::actors {

class HostSampler {
public:
  HostSampler() = default;
  /// Of the ranks of this generation's host. Opens NVML where there is a GPU: may block.
  explicit HostSampler(const training::Generation& generation);

  /// A few small files, and a few calls of the driver for each GPU.
  void sample(metrics::Registry& registry);
  /// By role.
  std::vector<metrics::ActorSample> actors(caf::actor_system& system) const;

private:
  struct Gpu {
    int rank;
    std::string id; ///< DeviceInfo::id
  };
  metrics::LoaderSample loader() const;

  std::shared_ptr<const training::LoaderWork> work_;                 ///< null: no generation
  std::vector<std::shared_ptr<const data::BatchAssembler>> batches_; ///< what they fill
  std::vector<Gpu> gpus_;
  std::map<std::string, std::int64_t> counts_; ///< of actors, by role, where that is not one
  std::unique_ptr<metrics::Nvml> nvml_;        ///< null: it is not there
};

} // namespace troupe::actors
