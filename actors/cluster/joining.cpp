#include "actors/cluster/joining.hpp"

#include "actors/cluster/asking.hpp"
#include "actors/cluster/backoff.hpp"
#include "actors/cluster/carried_error.hpp"
#include "actors/cluster/checkpoint_transfer.hpp"
#include "actors/cluster/membership.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/net/socket.hpp"
#include "core/units.hpp"
#include "engine/buddies.hpp"
#include "engine/shared_folder.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds shortest_probe{3000}; ///< a busy host may answer late

/// Asks once more after an error other than network: the answers of a daemon that is about to end
/// are not reliable.
Result<JobPlace> ask_twice(const Applicant& applicant, const std::string& address) {
  auto found = ask_for_job(applicant, address);
  if (found || found.error().code == Errc::network || applicant.stopped_within(Backoff::first))
    return found;
  return ask_for_job(applicant, address);
}

/// Addresses of daemons that may know of a job: cluster.join, and nodes it has trained with.
std::vector<std::string> acquaintances(const Applicant& applicant) {
  auto addresses = applicant.config.cluster.join;
  addresses.insert(addresses.end(), applicant.known.begin(), applicant.known.end());
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  if (addresses.size() > 1) // its own address alone is an error, which asking it reports
    std::erase(addresses, applicant.info.address);
  return addresses;
}

std::string looking_for(const Applicant& applicant) {
  const auto& join = applicant.config.cluster.join;
  return join.empty()
             ? fmt::format("looking for a job at {} (members.json)",
                           fmt::join(acquaintances(applicant), ", "))
             : fmt::format("looking for a job at {} (cluster.join)", fmt::join(join, ", "));
}

Backoff backoff_of(const Applicant& applicant) {
  return Backoff{std::hash<std::string>{}(applicant.info.process)};
}

Result<JobPlace> find_job(const Applicant& applicant, Waits::Row& wait) {
  auto backoff = backoff_of(applicant);
  for (bool first = true;; first = false) {
    Result<JobPlace> found;
    TROUPE_TRY(const auto told, ask_voter(applicant, -1));
    auto addresses = acquaintances(applicant);
    if (!told.leader.empty())
      addresses.insert(addresses.begin(), told.leader);
    for (const auto& address : addresses) {
      found = ask_twice(applicant, address);
      if (found || found.error().code != Errc::network)
        return found;
    }
    if (first)
      applicant.say(found.error().message + "; trying again");
    TROUPE_TRY(pause_before_retry(applicant, wait, backoff.next(), found.error()));
  }
}

/// Prepares if the job has begun. If MEMBERSHIP does not answer, asking for a seat reports it.
Status prepare_for(const Applicant& applicant, const membership_actor& membership) {
  std::int64_t slices = 0;
  caf::scoped_actor self{applicant.system};
  self->request(membership, applicant.config.cluster.timeouts.detection, atom::begin_v)
      .receive([&](std::int64_t of_job) { slices = of_job; }, [](const caf::error&) {});
  return slices > 0 ? applicant.prepare(slices) : Status{};
}

std::filesystem::path checkpoints_of(const Applicant& applicant) {
  return engine::run_folder(applicant.config) / "checkpoints";
}

/// The leader decides within this time whether a generation comes together, and with which nodes.
std::chrono::milliseconds longest_wait_for_seat(const TimeoutsConfig& timeouts) {
  return timeouts.admission + timeouts.form + 2 * timeouts.quorum;
}

WorkerGroups groups_of(const ParallelConfig& parallel) {
  return {.size = parallel.group(),
          .key = parallel.has_teams() ? "parallel.outer.team" : "parallel.shard_group"};
}

} // namespace

Status pause_before_retry(const Applicant& applicant, Waits::Row& wait,
                          std::chrono::milliseconds pause, const Error& met) {
  if (wait.is_over())
    return failure(met);
  if (const auto line = wait.due(); !line.empty())
    applicant.say(line);
  if (applicant.stopped_within(std::min(pause, wait.left())))
    return fail(Errc::stopped, "asked to stop while {}", wait.status().what);
  return {};
}

JobPlace lead_job(const Applicant& applicant, const std::optional<Vacancy>& after) {
  const auto& cluster = applicant.config.cluster;
  MembershipSetup setup{.min_nodes = static_cast<std::int32_t>(cluster.min_nodes),
                        .max_nodes = static_cast<std::int32_t>(cluster.max_nodes),
                        .quorum = cluster.timeouts.quorum,
                        .form = cluster.timeouts.form,
                        .detection = cluster.timeouts.detection,
                        .stable = cluster.timeouts.admission,
                        .probe = std::max(cluster.timeouts.detection, shortest_probe),
                        .slices = [config = &applicant.config](
                                      std::int64_t workers) { return config->slices(workers); },
                        .say = applicant.say,
                        .groups = groups_of(applicant.config.parallel),
                        .voter = applicant.voter,
                        .leave_one_by_one = applicant.config.parallel.divides() != Divided::nothing,
                        .lacks_copies =
                            [config = &applicant.config](const engine::GenerationRecord& record) {
                              return engine::lacks_copies(config->parallel, record);
                            }};
  if (after) {
    setup.before = after->last;
    setup.lost = after->lost;
  }
  return {
      applicant.system.spawn<membership_actor::stateful_impl<MembershipState>>(std::move(setup)),
      applicant.info.address};
}

Result<StateOffer> offer_beginning(const Applicant& applicant, const engine::Beginning& beginning) {
  StateOffer offer{.step = beginning.state ? beginning.state->header().step : 0};
  if (applicant.config.checkpoint.is_sharded()) {
    TROUPE_TRY(offer.shared, engine::offer_folder(checkpoints_of(applicant), beginning));
  }
  offer.travels = beginning.state && offer.shared.checkpoint.empty();
  return offer;
}

namespace {

Result<engine::Seat> ask_for_seat(const Applicant& applicant, const JobPlace& job) {
  Result<engine::Seat> answer;
  auto info = applicant.info;
  if (info.workers > 0 && job.leader != info.address) // the leader's MEMBERSHIP has limits
    info.time_left_ms = longest_wait_for_seat(applicant.config.cluster.timeouts).count();
  caf::scoped_actor self{applicant.system};
  // NODE answers when that time is over.
  self->request(applicant.node, caf::infinite, atom::join_v, job.membership, job.leader, info)
      .receive([&](const engine::Seat& seat) { answer = seat; },
               [&](const caf::error& error) {
                 answer = failure(carried(
                     error, {Errc::network, "joining the job", {.node = applicant.info.address}}));
               });
  return answer;
}

} // namespace

Result<Place> take_seat(const Applicant& applicant, const JobPlace& job) {
  while (true) {
    TROUPE_TRY(const auto seat, ask_for_seat(applicant, job));
    const auto& record = seat.generation;
    if (!seat.refused)
      return Place{seat, applicant.data_plane->meet(record.number, record.secret)};
    const bool lacks_proof = applicant.has_had_seat && seat.refused->where.actor == "membership";
    if (!(seat.left_out || lacks_proof) || !applicant.left_out)
      return failure(*seat.refused);
    const auto wait = applicant.left_out();
    applicant.say(
        fmt::format("{}; trying again in {}", seat.refused->message, format_duration(wait)));
    if (applicant.stopped_within(wait))
      return fail(Errc::stopped, "asked to stop while the other nodes continue without this node");
  }
}

namespace {

/// Whether the leader has handed over: VOTERs know which node leads now.
bool has_handed_over(const Error& error, const JobPlace& job) {
  return error.code == Errc::stopped && !job.leader.empty() && error.where.node == job.leader;
}

} // namespace

Result<Place> join_job(const Applicant& applicant, JobPlace& job) {
  const auto& timeouts = applicant.config.cluster.timeouts;
  auto backoff = backoff_of(applicant);
  auto wait = applicant.waits->begin(looking_for(applicant), timeouts.quorum);
  for (bool first = true;; first = false) {
    const auto found = find_job(applicant, wait);
    if (!found)
      return failure(found.error());
    job = *found;
    if (applicant.info.workers > 0)
      TROUPE_TRY(prepare_for(applicant, job.membership));
    const auto asked = Clock::now();
    auto place = take_seat(applicant, job);
    const bool moved = !place && has_handed_over(place.error(), job);
    if (place || (place.error().code != Errc::network && !moved))
      return place;
    const bool was_admitted = place.error().where.actor.empty();
    const bool has_waited = Clock::now() - asked > timeouts.detection; // among others
    if (moved || (was_admitted && has_waited)) {
      wait = applicant.waits->begin(looking_for(applicant), timeouts.quorum);
      backoff = backoff_of(applicant);
    }
    if (first)
      applicant.say(place.error().message + "; trying again");
    TROUPE_TRY(pause_before_retry(applicant, wait, backoff.next(), place.error()));
  }
}

namespace {

/// The job of the first known daemon that answers with one.
std::optional<JobPlace> ask_around(const Applicant& applicant) {
  for (const auto& address : acquaintances(applicant))
    if (auto found = ask_for_job(applicant, address); found)
      return *found;
  return std::nullopt;
}

} // namespace

Result<JobPlace> find_successor(const Applicant& applicant, Vacancy& vacancy) {
  constexpr std::chrono::milliseconds pause{25}; // training stands still
  auto wait = applicant.waits->begin(
      fmt::format("looking for the node that leads after {}", vacancy.last.leader()),
      applicant.config.cluster.timeouts.quorum);
  const Error lost{Errc::network, fmt::format("{}; no other leads within cluster.timeouts.quorum",
                                              vacancy.lost.message)};
  applicant.say(vacancy.lost.message);
  auto asks_others = Clock::now();
  for (;;) {
    TROUPE_TRY(auto told, ask_voter(applicant, vacancy.last.number));
    if (told.leader == applicant.info.address) {
      vacancy.last = std::move(told.last);
      return JobPlace{{}, told.leader};
    }
    if (!told.leader.empty())
      if (auto found = ask_for_job(applicant, told.leader))
        return found;
    // They may have begun another job, also while this node's VOTER names one that is gone since.
    if (told.leader.empty() ||
        Clock::now() > asks_others + applicant.config.cluster.timeouts.detection) {
      if (auto found = ask_around(applicant))
        return *found;
      asks_others = Clock::now();
    }
    TROUPE_TRY(pause_before_retry(applicant, wait, pause, lost));
  }
}

Result<StateSourcePtr> share_state(const Applicant& applicant, const membership_actor& membership,
                                   const Place& place, const StateSourcePtr& own) {
  const auto& seat = place.seat;
  const auto& timeouts = applicant.config.cluster.timeouts;
  if (!seat.shared.probe.empty())
    return engine::enter_folder(checkpoints_of(applicant), seat.shared, seat.node);
  if (seat.place().lacks_state) {
    auto checkpoint = fetch_checkpoint(*place.meeting, seat, timeouts, applicant.say);
    if (!checkpoint)
      return failure(cause(applicant, place, checkpoint.error()));
    return state_in_memory(*std::move(checkpoint));
  }
  if (seat.is_source() && seat.generation.lacking() > 0) {
    TROUPE_TRY(auto whole, read_whole(*own));
    const CheckpointPieces pieces{std::make_shared<const Checkpoint>(std::move(whole))};
    const auto sent = send_checkpoint(*place.meeting, seat.generation, pieces, timeouts,
                                      [&] { caf::anon_send(membership, atom::fetch_v); });
    if (!sent)
      return failure(cause(applicant, place, sent.error()));
  }
  return own;
}

Result<SharedParts> share_parts(const Applicant& applicant, const Place& place,
                                const engine::HeldStates& held) {
  const auto& seat = place.seat;
  const auto& timeouts = applicant.config.cluster.timeouts;
  if (!seat.shared.probe.empty())
    TROUPE_TRY(engine::enter_folder(checkpoints_of(applicant), seat.shared, seat.node));
  const auto mine = engine::find_held(held, seat.generation.step, seat.generation.shards);
  SharedParts shared;
  if (mine && seat.generation.nodes.size() > 1)
    shared.server = std::make_unique<PartsServer>(place.meeting, seat, mine, timeouts);
  auto state = gather_parts(place.meeting, seat, mine, timeouts, applicant.say);
  if (!state)
    return failure(cause(applicant, place, state.error()));
  shared.state = *std::move(state);
  return shared;
}

Error cause(const Applicant& applicant, const Place& place, Error met) {
  if (met.code != Errc::network || !place.meeting)
    return met;
  const auto told = place.meeting->await_reason(applicant.config.cluster.timeouts.detection);
  return told ? met : told.error();
}

} // namespace troupe::actors
