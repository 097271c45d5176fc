#include "actors/node/joining.hpp"

#include "actors/caf_error.hpp"
#include "actors/membership/membership_actor.hpp"
#include "actors/node/asking.hpp"
#include "actors/node/backoff.hpp"
#include "actors/node/checkpoint_transfer.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/units.hpp"
#include "training/shard_replicas.hpp"
#include "training/shared_folder.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds shortest_probe{3000}; ///< a busy host may answer late

/// Asks once more after an error other than network: the answers of a daemon that is about to end
/// are not reliable.
Result<JobHandle> ask_twice(const JoinContext& context, const std::string& address) {
  auto found = ask_for_job(context, address);
  if (found || found.error().code == Errc::network || context.stopped_within(Backoff::first))
    return found;
  return ask_for_job(context, address);
}

/// Addresses of daemons that may know of a job: cluster.join, and nodes it has trained with.
std::vector<std::string> known_peers(const JoinContext& context) {
  auto addresses = context.config.cluster.join;
  addresses.insert(addresses.end(), context.known.begin(), context.known.end());
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  if (addresses.size() > 1) // asking only its own address returns a useful error
    std::erase(addresses, context.info.address);
  return addresses;
}

std::string looking_for(const JoinContext& context) {
  const auto& join = context.config.cluster.join;
  return join.empty()
             ? fmt::format("looking for a job at {} (members.json)",
                           fmt::join(known_peers(context), ", "))
             : fmt::format("looking for a job at {} (cluster.join)", fmt::join(join, ", "));
}

Backoff backoff_of(const JoinContext& context) {
  return Backoff{std::hash<std::string>{}(context.info.process)};
}

Result<JobHandle> find_job(const JoinContext& context, Waits::Row& wait) {
  auto backoff = backoff_of(context);
  for (bool first = true;; first = false) {
    Result<JobHandle> found;
    TROUPE_TRY(const auto told, ask_consensus(context, -1));
    auto addresses = known_peers(context);
    if (!told.leader.empty())
      addresses.insert(addresses.begin(), told.leader);
    for (const auto& address : addresses) {
      found = ask_twice(context, address);
      if (found || found.error().code != Errc::network)
        return found;
    }
    if (first)
      context.say(found.error().message + "; trying again");
    TROUPE_TRY(pause_before_retry(context, wait, backoff.next(), found.error()));
  }
}

/// Prepares if the job has begun. If MEMBERSHIP does not answer, the join request will report it.
Status prepare_for(const JoinContext& context, const membership_actor& membership) {
  std::int64_t slices = 0;
  caf::scoped_actor self{context.system};
  self->request(membership, context.config.cluster.timeouts.detection, atom::begin_v)
      .receive([&](std::int64_t of_job) { slices = of_job; }, [](const caf::error&) {});
  return slices > 0 ? context.prepare(slices) : Status{};
}

std::filesystem::path checkpoints_of(const JoinContext& context) {
  return training::run_folder(context.config) / "checkpoints";
}

Result<training::NodeAssignment> ask_for_assignment(const JoinContext& context,
                                                    const JobHandle& job) {
  Result<training::NodeAssignment> answer;
  const auto& timeouts = context.config.cluster.timeouts;
  // The leader decides within this time whether a generation is built, and with which nodes.
  const auto longest_wait = timeouts.admission_delay() + timeouts.rejoin + 2 * timeouts.quorum;
  auto info = context.info;
  if (info.workers > 0 && job.leader != info.address) // the leader's MEMBERSHIP has limits
    info.time_left_ms = longest_wait.count();
  caf::scoped_actor self{context.system};
  // NODE answers when that time is over.
  self->request(context.node, caf::infinite, atom::join_v, job.membership, job.leader, info)
      .receive(
          [&](const training::NodeAssignment& assignment) { answer = assignment; },
          [&](const caf::error& error) {
            answer = failure(from_caf_error(
                error, {Errc::network, "could not join the job", {.node = context.info.address}}));
          });
  return answer;
}

/// Whether the leader has handed over: then CONSENSUS knows which node leads now.
bool has_handed_over(const Error& error, const JobHandle& job) {
  return error.code == Errc::stopped && !job.leader.empty() && error.where.node == job.leader;
}

/// Returns the job of the first known daemon that has one.
std::optional<JobHandle> ask_around(const JoinContext& context) {
  for (const auto& address : known_peers(context))
    if (auto found = ask_for_job(context, address); found)
      return *found;
  return std::nullopt;
}

} // namespace

Status pause_before_retry(const JoinContext& context, Waits::Row& wait,
                          std::chrono::milliseconds pause, const Error& met) {
  if (wait.is_over())
    return failure(met);
  if (const auto line = wait.due(); !line.empty())
    context.say(line);
  if (context.stopped_within(std::min(pause, wait.left())))
    return fail(Errc::stopped, "asked to stop while {}", wait.status().what);
  return {};
}

JobHandle lead_job(const JoinContext& context, const std::optional<LeaderLoss>& after) {
  const auto& cluster = context.config.cluster;
  const auto& parallel = context.config.parallel;
  MembershipRules rules{
      .min_nodes = static_cast<std::int32_t>(cluster.min_nodes),
      .max_nodes = static_cast<std::int32_t>(cluster.max_nodes),
      .timeouts = cluster.timeouts,
      .probe = std::max(cluster.timeouts.detection, shortest_probe),
      .slices = [config =
                     &context.config](std::int64_t workers) { return config->slices(workers); },
      .make_secret = collectives::make_secret,
      .groups = {.size = parallel.group(),
                 .key = parallel.has_replica_groups() ? "parallel.diloco.group_size"
                                                      : "parallel.shard_group"},
      .has_voters = static_cast<bool>(context.consensus),
      .leave_one_by_one = parallel.divides() != Divided::nothing,
      .lacks_copies =
          [config = &context.config](const training::GenerationRecord& record) {
            return training::lacks_copies(config->parallel, record);
          }};
  if (after) {
    rules.before = after->last;
    rules.lost = after->lost;
  }
  return {context.system.spawn<membership_actor::stateful_impl<MembershipState>>(
              MembershipSetup{std::move(rules), context.say, context.consensus}),
          context.info.address};
}

Result<StateOffer> offer_resume_point(const JoinContext& context,
                                      const training::ResumePoint& resume_point) {
  StateOffer offer{.step = resume_point.state ? resume_point.state->header().step : 0};
  if (context.config.checkpoint.is_sharded()) {
    TROUPE_TRY(offer.shared, training::offer_folder(checkpoints_of(context), resume_point));
  }
  offer.travels = resume_point.state && offer.shared.checkpoint.empty();
  return offer;
}

Result<Admission> take_assignment(const JoinContext& context, const JobHandle& job) {
  while (true) {
    TROUPE_TRY(const auto assignment, ask_for_assignment(context, job));
    const auto& record = assignment.generation;
    if (!assignment.refused)
      return Admission{assignment, context.data_plane->join_group(record.number, record.secret)};
    const bool lacks_proof =
        context.has_had_assignment && assignment.refused->where.actor == "membership";
    if (!(assignment.left_out || lacks_proof) || !context.left_out)
      return failure(*assignment.refused);
    const auto wait = context.left_out();
    context.say(
        fmt::format("{}; trying again in {}", assignment.refused->message, format_duration(wait)));
    if (context.stopped_within(wait))
      return fail(Errc::stopped, "asked to stop while the other nodes continue without this node");
  }
}

Result<Admission> join_job(const JoinContext& context, JobHandle& job) {
  const auto& timeouts = context.config.cluster.timeouts;
  auto backoff = backoff_of(context);
  auto wait = context.waits->begin(looking_for(context), timeouts.quorum);
  for (bool first = true;; first = false) {
    const auto found = find_job(context, wait);
    if (!found)
      return failure(found.error());
    job = *found;
    if (context.info.workers > 0)
      TROUPE_TRY(prepare_for(context, job.membership));
    const auto asked = Clock::now();
    auto admission = take_assignment(context, job);
    const bool moved = !admission && has_handed_over(admission.error(), job);
    if (admission || (admission.error().code != Errc::network && !moved))
      return admission;
    const bool was_admitted = admission.error().where.actor.empty();
    const bool has_waited = Clock::now() - asked > timeouts.detection; // among the other nodes
    if (moved || (was_admitted && has_waited)) {
      wait = context.waits->begin(looking_for(context), timeouts.quorum);
      backoff = backoff_of(context);
    }
    if (first)
      context.say(admission.error().message + "; trying again");
    TROUPE_TRY(pause_before_retry(context, wait, backoff.next(), admission.error()));
  }
}

Result<JobHandle> find_successor(const JoinContext& context, LeaderLoss& leader_loss) {
  constexpr std::chrono::milliseconds pause{25}; // training stands still
  auto wait = context.waits->begin(
      fmt::format("looking for the successor of leader {}", leader_loss.last.leader()),
      context.config.cluster.timeouts.quorum);
  const Error lost{Errc::network,
                   fmt::format("{}; no other node took over the job within cluster.timeouts.quorum",
                               leader_loss.lost.message)};
  context.say(leader_loss.lost.message);
  auto asks_others = Clock::now();
  for (;;) {
    TROUPE_TRY(auto told, ask_consensus(context, leader_loss.last.number));
    if (told.leader == context.info.address) {
      leader_loss.last = std::move(told.last);
      return JobHandle{{}, told.leader};
    }
    if (!told.leader.empty())
      if (auto found = ask_for_job(context, told.leader))
        return found;
    // They may have begun another job, even while this node's CONSENSUS still names a lost one.
    if (told.leader.empty() ||
        Clock::now() > asks_others + context.config.cluster.timeouts.detection) {
      if (auto found = ask_around(context))
        return *found;
      asks_others = Clock::now();
    }
    TROUPE_TRY(pause_before_retry(context, wait, pause, lost));
  }
}

Result<StateSourcePtr> share_state(const JoinContext& context, const membership_actor& membership,
                                   const Admission& admission, const StateSourcePtr& own) {
  const auto& assignment = admission.assignment;
  const auto& timeouts = context.config.cluster.timeouts;
  if (!assignment.shared.probe.empty())
    return training::enter_folder(checkpoints_of(context), assignment.shared, assignment.node);
  if (assignment.member().lacks_state) {
    auto checkpoint =
        fetch_checkpoint(*admission.connection_group, assignment, timeouts, context.say);
    if (!checkpoint)
      return failure(cause(context, admission, checkpoint.error()));
    return state_in_memory(*std::move(checkpoint));
  }
  if (assignment.is_source() && assignment.generation.lacking() > 0) {
    TROUPE_TRY(auto whole, read_whole(*own));
    const CheckpointChunks chunks{std::make_shared<const Checkpoint>(std::move(whole))};
    const auto sent = send_checkpoint(*admission.connection_group, assignment.generation, chunks,
                                      timeouts, [&] { caf::anon_send(membership, atom::fetch_v); });
    if (!sent)
      return failure(cause(context, admission, sent.error()));
  }
  return own;
}

Result<SharedShards> share_shards(const JoinContext& context, const Admission& admission,
                                  const training::RetainedStates& retained) {
  const auto& assignment = admission.assignment;
  const auto& timeouts = context.config.cluster.timeouts;
  if (!assignment.shared.probe.empty())
    TROUPE_TRY(training::enter_folder(checkpoints_of(context), assignment.shared, assignment.node));
  const auto mine =
      training::find_retained(retained, assignment.generation.step, assignment.generation.shards);
  SharedShards shared;
  if (mine && assignment.generation.nodes.size() > 1)
    shared.server =
        std::make_unique<ShardServer>(admission.connection_group, assignment, mine, timeouts);
  auto state = gather_shards(admission.connection_group, assignment, mine, timeouts, context.say);
  if (!state)
    return failure(cause(context, admission, state.error()));
  shared.state = *std::move(state);
  return shared;
}

Error cause(const JoinContext& context, const Admission& admission, Error met) {
  if (met.code != Errc::network || !admission.connection_group)
    return met;
  const auto told =
      admission.connection_group->await_reason(context.config.cluster.timeouts.detection);
  return told ? met : told.error();
}

} // namespace troupe::actors
