#include "groups.hpp"

#ifdef TROUPE_HAS_CUDA
#include "groups_cuda.hpp"
#endif

#include "troupe/collectives/gloo/gloo_communicator.hpp"
#include "troupe/collectives/lone_communicator.hpp"
#include "troupe/collectives/shared_device/shared_communicator.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/units.hpp"

#include <algorithm>
#include <future>
#include <vector>

namespace troupe::engine {

namespace {

using Member = std::shared_ptr<collectives::Communicator> Replica::*;

/// Ranks first, first + step, ...
struct Ranks {
  int first = 0, step = 1, size = 1;
  bool apart = false; ///< their calls have no order among those of other groups

  int index_of(int rank) const { return (rank - first) / step; }
  bool contain(int rank) const {
    return rank >= first && (rank - first) % step == 0 && (rank - first) / step < size;
  }
};

class Groups {
public:
  Groups(std::span<const std::shared_ptr<Replica>> replicas, const GroupOptions& options)
      : replicas_{replicas}, options_{options} {}

  /// Every node goes through all groups in one order, so that none waits for another in a circle.
  Status join(const Ranks& ranks, Member member) {
    std::vector<Replica*> here;
    for (const auto& replica : replicas_)
      if (ranks.contain(replica->rank))
        here.push_back(replica.get());
    if (ranks.size == options_.generation.world_size() && !ranks.apart)
      for (auto* replica : here)
        replica->*member = replica->world;
    if (here.empty() || here.front()->*member)
      return {};
    auto communicators = make(here, ranks);
    if (!communicators)
      return failure(communicators.error());
    for (std::size_t i = 0; i < here.size(); ++i)
      here[i]->*member = std::move((*communicators)[i]);
    return {};
  }

  /// All ranks once more, for what `train` sums up in the middle of a pass.
  Status join_statistics() {
    TROUPE_TRY(join({.size = options_.generation.world_size(), .apart = true},
                    &Replica::statistics_group));
    for (const auto& replica : replicas_)
      replica->train().bind_sum_over_ranks(
          [group = replica->statistics_group](Stream& stream, double* values, std::size_t count) {
            group->all_reduce(stream, {values, count, DType::f64});
          });
    return {};
  }

private:
  using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;

  Result<Communicators> make(const std::vector<Replica*>& here, const Ranks& ranks) {
    if (ranks.size == 1) {
      Communicators alone;
      alone.push_back(collectives::make_lone_communicator(here.front()->equipment->device));
      return alone;
    }
    const bool all = std::ssize(here) == ranks.size;
#ifdef TROUPE_HAS_CUDA
    if (here.front()->device().info().kind == DeviceKind::cuda)
      return make_on_gpus(here, ranks, all);
#endif
    if (all)
      return collectives::make_shared_group(ranks.size, options_.timeouts.collective);
    return connect(here, ranks);
  }

  /// At the same time: each waits for all.
  Result<Communicators> connect(const std::vector<Replica*>& here, const Ranks& ranks) {
    std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
    connecting.reserve(here.size());
    for (const auto* replica : here)
      connecting.push_back(std::async(std::launch::async, [this, replica, &ranks] {
        return collectives::connect_gloo(gloo_options(*replica, ranks), *options_.store);
      }));
    Result<Communicators> connected;
    for (auto& each : connecting) {
      auto communicator = each.get();
      if (!communicator)
        connected = failure(std::move(communicator).error());
      else if (connected)
        connected->push_back(std::move(*communicator));
    }
    return connected;
  }

#ifdef TROUPE_HAS_CUDA
  Result<Communicators> make_on_gpus(const std::vector<Replica*>& here, const Ranks& ranks,
                                     bool all) {
    const GpuGroup group{.name = name(ranks),
                         .world_size = ranks.size,
                         .store = all ? nullptr : options_.store,
                         .collective = options_.timeouts.collective,
                         .connect = options_.timeouts.quorum,
                         .apart = ranks.apart};
    if (all)
      return gpus_.share(here, group);
    std::vector<int> indices;
    indices.reserve(here.size());
    for (const auto* replica : here)
      indices.push_back(ranks.index_of(replica->rank));
    return gpus_.connect(here, indices, group);
  }
#endif

  std::string name(const Ranks& ranks) const {
    return fmt::format("{}/{}+{}x{}{}", options_.generation.number, ranks.first, ranks.step,
                       ranks.size, ranks.apart ? " apart" : "");
  }

  collectives::GlooOptions gloo_options(const Replica& replica, const Ranks& ranks) const {
    const auto& node = options_.generation.node_of(replica.rank);
    return {.rank = ranks.index_of(replica.rank),
            .world_size = ranks.size,
            .group = name(ranks),
            .address = parse_endpoint(node.address)->host,
            .timeout = options_.timeouts.collective,
            .connect_timeout = options_.timeouts.quorum};
  }

  std::span<const std::shared_ptr<Replica>> replicas_;
  const GroupOptions& options_;
#ifdef TROUPE_HAS_CUDA
  GpuGroups gpus_;
#endif
};

} // namespace

Status join_groups(std::span<const std::shared_ptr<Replica>> replicas,
                   const collectives::Strategy& strategy, const GroupOptions& options) {
  Groups groups{replicas, options};
  TROUPE_TRY(groups.join({0, 1, strategy.world_size}, &Replica::world));
  for (int copy = 0; copy < strategy.replicas(); ++copy)
    TROUPE_TRY(groups.join({copy * strategy.shards, 1, strategy.shards}, &Replica::shard_group));
  for (int shard = 0; shard < strategy.shards; ++shard)
    TROUPE_TRY(groups.join({shard, strategy.shards, strategy.replicas()}, &Replica::replica_group));
  return options.statistics && strategy.world_size > 1 ? groups.join_statistics() : Status{};
}

} // namespace troupe::engine
