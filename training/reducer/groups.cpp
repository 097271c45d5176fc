#include "training/reducer/groups.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "core/units.hpp"

#include <array>
#include <vector>

namespace troupe::training {

namespace {

/// Practically no timeout: the failure detector finds lost nodes.
constexpr std::chrono::hours time_limit{24};

collectives::LinkName to_first(std::int32_t node) {
  return {.group = "loaded", .from = node, .to = 0};
}

/// The first node receives a byte from each other node, then answers all of them.
Status collect(collectives::ConnectionGroup& connection_group, const NodeAssignment& assignment) {
  std::vector<net::Connection> others;
  std::array<std::byte, 1> word{};
  for (std::int32_t node = 1; node < std::ssize(assignment.generation.nodes); ++node) {
    TROUPE_TRY(auto other, connection_group.accept(to_first(node), time_limit));
    TROUPE_TRY(net::read_all(other, word, connection_group.io_deadline(time_limit)));
    others.push_back(std::move(other));
  }
  for (auto& other : others)
    TROUPE_TRY(net::write_all(other, word, connection_group.io_deadline(time_limit)));
  return {};
}

} // namespace

Status await_all_loaded(collectives::ConnectionGroup& connection_group,
                        const NodeAssignment& assignment, const TimeoutsConfig& timeouts) {
  if (assignment.node == 0)
    return collect(connection_group, assignment);
  std::array<std::byte, 1> word{};
  TROUPE_TRY(auto first,
             connection_group.connect(net::peer_endpoint(assignment.generation.nodes.front().data),
                                      to_first(assignment.node), timeouts.quorum));
  TROUPE_TRY(net::write_all(first, word, connection_group.io_deadline(time_limit)));
  return net::read_all(first, word, connection_group.io_deadline(time_limit));
}

namespace {

using Member = std::shared_ptr<collectives::Communicator> RankState::*;

/// Ranks first, first + step, ...
struct Ranks {
  int first = 0, step = 1, size = 1;
  bool apart = false; ///< its calls are not ordered with those of other groups

  int index_of(int rank) const { return (rank - first) / step; }
  int rank_of(int index) const { return first + index * step; }
  bool contain(int rank) const {
    return rank >= first && (rank - first) % step == 0 && (rank - first) / step < size;
  }
};

class Groups {
public:
  Groups(const Generation& generation,
         const std::shared_ptr<collectives::ConnectionGroup>& connection_group)
      : generation_{generation}, connection_group_{connection_group} {}

  /// All nodes join the groups in the same order, so that no cycle of waits arises.
  Status join(const Ranks& ranks, Member member) {
    std::vector<RankState*> here;
    for (const auto& rank_state : generation_.rank_states)
      if (ranks.contain(rank_state->rank))
        here.push_back(rank_state.get());
    if (ranks.size == generation_.world_size && !ranks.apart)
      for (auto* rank_state : here)
        rank_state->*member = rank_state->world;
    if (here.empty() || here.front()->*member)
      return {};
    TROUPE_TRY(auto communicators, make(here, ranks));
    for (std::size_t i = 0; i < here.size(); ++i)
      here[i]->*member = std::move(communicators[i]);
    return {};
  }

  /// Creates another group of all ranks, for sums of `train` in the middle of a pass.
  Status join_statistics() {
    TROUPE_TRY(join({.size = generation_.world_size, .apart = true}, &RankState::statistics_group));
    for (const auto& rank_state : generation_.rank_states)
      rank_state->train().bind_sum_over_ranks(
          [group = rank_state->statistics_group](Stream& stream, double* values,
                                                 std::size_t count) {
            group->all_reduce(stream, {values, count, DType::f64});
          });
    return {};
  }

private:
  Result<Communicators> make(const std::vector<RankState*>& here, const Ranks& ranks) {
    if (ranks.size == 1) {
      Communicators alone;
      alone.push_back(collectives::make_single_rank_communicator(here.front()->compiled->device));
      return alone;
    }
    std::vector<GroupMember> members;
    members.reserve(here.size());
    for (const auto* rank_state : here)
      members.push_back({rank_state->compiled->worker, ranks.index_of(rank_state->rank)});
    const auto& timeouts = generation_.job().config.cluster.timeouts;
    GroupPlace place{.name = name(ranks),
                     .world_size = ranks.size,
                     .collective = timeouts.collective,
                     .connect = timeouts.quorum,
                     .apart = ranks.apart};
    if (std::ssize(here) < ranks.size) {
      place.connection_group = connection_group_;
      place.node = record().node_of(here.front()->rank).address;
      for (int i = 0; i < ranks.size; ++i)
        place.endpoints.push_back(net::peer_endpoint(record().node_of(ranks.rank_of(i)).data));
    }
    return generation_.compiled_job->devices->make_group(members, place);
  }

  std::string name(const Ranks& ranks) const {
    return fmt::format("{}/{}+{}x{}{}", record().number, ranks.first, ranks.step, ranks.size,
                       ranks.apart ? " apart" : "");
  }

  const GenerationRecord& record() const { return generation_.assignment.generation; }

  const Generation& generation_;
  const std::shared_ptr<collectives::ConnectionGroup>& connection_group_;
};

} // namespace

Status join_groups(const Generation& generation,
                   const std::shared_ptr<collectives::ConnectionGroup>& connection_group) {
  const auto& strategy = generation.strategy;
  Groups groups{generation, connection_group};
  TROUPE_TRY(groups.join({0, 1, strategy.world_size}, &RankState::world));
  for (int copy = 0; copy < strategy.copies(); ++copy)
    TROUPE_TRY(groups.join({copy * strategy.shards, 1, strategy.shards}, &RankState::shard_group));
  for (int replica_group = 0; replica_group < strategy.world_size;
       replica_group += strategy.replica_group)
    for (int shard = 0; shard < strategy.shards; ++shard)
      TROUPE_TRY(groups.join(
          {replica_group + shard, strategy.shards, strategy.replica_group / strategy.shards},
          &RankState::replicate_group));
  for (int place = 0; strategy.has_replica_groups() && place < strategy.replica_group; ++place)
    TROUPE_TRY(groups.join({place, strategy.replica_group, strategy.replica_groups()},
                           &RankState::across));
  const bool sums_statistics = generation.job().config.model.sync_batch_norm;
  return sums_statistics && strategy.world_size > 1 ? groups.join_statistics() : Status{};
}

} // namespace troupe::training
