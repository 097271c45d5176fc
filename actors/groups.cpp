#include "groups.hpp"

#include "troupe/collectives/gloo/gloo_communicator.hpp"
#include "troupe/collectives/shared_device/shared_communicator.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/units.hpp"

#include <algorithm>
#include <future>
#include <vector>

namespace troupe::actors {

namespace {

using Member = std::shared_ptr<collectives::Communicator> Replica::*;

/// Ranks first, first + step, ...
struct Ranks {
  int first = 0, step = 1, size = 1;

  int at(int index) const { return first + index * step; }
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
    if (ranks.size == options_.generation.world_size())
      for (auto* replica : here)
        replica->*member = replica->world;
    if (here.empty() || here.front()->*member)
      return {};
    if (std::ssize(here) == ranks.size)
      return share(here, member);
    return connect(here, ranks, member);
  }

private:
  Status share(const std::vector<Replica*>& here, Member member) {
    auto group =
        collectives::make_shared_group(static_cast<int>(here.size()), options_.timeouts.collective);
    for (std::size_t i = 0; i < here.size(); ++i)
      here[i]->*member = std::move(group[i]);
    return {};
  }

  /// At the same time: each waits for all.
  Status connect(const std::vector<Replica*>& here, const Ranks& ranks, Member member) {
    if (here.front()->device->info().kind != DeviceKind::host)
      return fail(Errc::unsupported,
                  "workers on CUDA devices of several nodes cannot exchange gradients yet; set "
                  "devices.kind to cpu");
    std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
    for (const auto* replica : here)
      connecting.push_back(std::async(std::launch::async, [this, replica, &ranks] {
        return collectives::connect_gloo(gloo_options(*replica, ranks), *options_.store);
      }));
    Status status;
    for (std::size_t i = 0; i < here.size(); ++i) {
      auto communicator = connecting[i].get();
      if (communicator)
        here[i]->*member = std::move(*communicator);
      else
        status = failure(std::move(communicator).error());
    }
    return status;
  }

  collectives::GlooOptions gloo_options(const Replica& replica, const Ranks& ranks) const {
    const auto& node = options_.generation.node_of(replica.rank);
    return {.rank = (replica.rank - ranks.first) / ranks.step,
            .world_size = ranks.size,
            .group = fmt::format("{}/{}+{}x{}", options_.generation.number, ranks.first, ranks.step,
                                 ranks.size),
            .address = parse_endpoint(node.address)->host,
            .timeout = options_.timeouts.collective,
            .connect_timeout = options_.timeouts.quorum};
  }

  std::span<const std::shared_ptr<Replica>> replicas_;
  const GroupOptions& options_;
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
  return {};
}

} // namespace troupe::actors
