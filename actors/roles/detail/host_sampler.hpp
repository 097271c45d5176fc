/// The statistics that METRICS samples once a second: mailboxes, loader threads, memory and GPUs of
/// this host.
#pragma once

#include "metrics/machine/nvml.hpp"
#include "metrics/registry/registry.hpp"
#include "training/generation.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::actors {

class HostSampler {
public:
  HostSampler() = default;
  /// Samples for this generation's ranks on this host. Opens NVML if there is a GPU: may block.
  explicit HostSampler(const training::Generation& generation);

  /// Reads a few small files, and makes a few driver calls per GPU.
  void sample(metrics::Registry& registry);
  /// Returns samples by role.
  std::vector<metrics::MailboxSample> actors(caf::actor_system& system) const;

private:
  std::shared_ptr<const training::LoaderWork> work_;                 ///< null: no generation
  std::vector<std::shared_ptr<const data::BatchAssembler>> batches_; ///< filled by loaders
  std::vector<std::pair<int, std::string>> gpus_;                    ///< rank, and DeviceInfo::id
  std::map<std::string, std::int64_t> counts_; ///< number of actors by role, unless it is one
  std::unique_ptr<metrics::Nvml> nvml_;        ///< null: not available
};

} // namespace troupe::actors
