#include "actors/node/previous_members.hpp"

#include "actors/membership/quorum.hpp"
#include "actors/node/asking.hpp"
#include "actors/node/backoff.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "training/resume.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe::actors {

namespace {

/// Returns the nodes to ask: voters first, then cluster.join, then other nodes. This process is not
/// a voter, because an earlier process had the vote.
std::vector<training::Voter> others(const JoinContext& context, const Members& before) {
  auto voters = before.voters;
  for (const auto& address : context.config.cluster.join)
    if (std::ranges::count(voters, address, &training::Voter::address) == 0)
      voters.push_back({address, ""});
  for (const auto& node : before.nodes)
    if (std::ranges::count(voters, node.address, &training::Voter::address) == 0)
      voters.push_back(node);
  return voters;
}

/// The answers of all known nodes, each asked once.
struct Round {
  std::optional<JobHandle> job = {};
  std::set<std::size_t> doubtful = {}; ///< voters whose processes may still live
  bool may_have_leader = false;        ///< one of those may lead: it trained, or does not answer
  std::set<std::string> agree = {};    ///< addresses that expect this node to begin a job
  std::string objection = {};          ///< why this node may not begin a job now
  training::GenerationRecord last = {.number = 0}; ///< the latest that any of them knows
};

void note(Round& round, const Answer& answer, const std::string& address, const std::string& own) {
  if (answer.last.order() > round.last.order())
    round.last = answer.last;
  if (answer.is_busy)
    round.objection = fmt::format("{} takes part in a job: {}", address, answer.why.message);
  else if (answer.begins == own)
    round.agree.insert(address);
  else if (!answer.begins.empty())
    round.objection = fmt::format("{} expects {} to start the job, and this node expects {}; list "
                                  "the same node first in cluster.join on all nodes",
                                  address, answer.begins, own);
}

/// Whether a voter that still lives does not train, according to the last record that it knows and
/// to this node's. Voters that do not train cannot elect a leader by themselves.
bool only_votes(const Answer& answer, const std::string& address, const Members& before) {
  return answer.last.number > 0 && answer.last.order() <= before.order() &&
         std::ranges::count(answer.last.nodes, address, &training::MemberInfo::address) == 0 &&
         std::ranges::count(before.nodes, address, &training::Voter::address) == 0;
}

Round ask_all(const JoinContext& context, const std::vector<training::Voter>& known,
              std::size_t deciding, const Members& before) {
  Round round;
  const auto& own = context.info.address;
  for (std::size_t i = 0; i < known.size() && !round.job; ++i) {
    const auto& address = known[i].address;
    if (address == own)
      continue;
    auto answer = ask_about_job(context, address);
    if (answer && answer->job)
      round.job = std::move(answer->job);
    else if (answer)
      note(round, *answer, address, own);
    const bool has_ended = answer && answer->has_ended;
    if (i < deciding && !has_ended && may_go_on(context, known[i])) {
      round.doubtful.insert(i);
      round.may_have_leader |= !answer || !only_votes(*answer, address, before);
    }
  }
  return round;
}

/// Whether the voters that may still live could continue without this node.
bool may_continue(const Round& round, std::size_t deciding) {
  return round.may_have_leader && is_quorum(round.doubtful, deciding);
}

/// Returns why this node does not begin a job yet; empty: it does.
std::string objection(const Round& round, const JoinContext& context, std::size_t deciding) {
  if (may_continue(round, deciding))
    return fmt::format("{} of {} nodes that vote on members may still train this run",
                       round.doubtful.size(), deciding);
  if (!round.objection.empty())
    return round.objection;
  const auto& join = context.config.cluster.join;
  std::set<std::size_t> with; // this node, and those that expect it to begin the job
  for (std::size_t i = 0; i < join.size(); ++i)
    if (join[i] == context.info.address || round.agree.contains(join[i]))
      with.insert(i);
  if (join.empty() || is_quorum(with, join.size()))
    return {};
  return fmt::format("{} of {} nodes of cluster.join are present, too few to start a job",
                     with.size(), join.size());
}

} // namespace

bool may_begin(const ClusterConfig& cluster, const std::string& address) {
  const auto& join = cluster.join;
  return join.empty() || (join.size() > 1 && join.front() == address);
}

Result<std::optional<JobHandle>> find_running_job(const JoinContext& context, Members before) {
  auto known = others(context, before);
  Backoff backoff{std::hash<std::string>{}(context.info.process)};
  auto wait = context.waits->begin("asking the other nodes whether their job is still running",
                                   context.config.cluster.timeouts.quorum);
  std::string said;
  for (;;) {
    const auto deciding = before.voters.empty() ? known.size() : before.voters.size();
    auto round = ask_all(context, known, deciding, before);
    if (round.job)
      return std::move(round.job);
    // Others have continued without this node: its file has outdated voters.
    if (round.last.order() > before.order()) {
      before = members_of(round.last);
      known = others(context, before);
      continue;
    }
    const auto why = objection(round, context, deciding);
    if (why.empty())
      return std::nullopt;
    if (std::exchange(said, why) != why)
      context.say(why + "; trying again");
    wait.rename("waiting to start a job: " + why);
    const auto way_out =
        may_continue(round, deciding)
            ? fmt::format("; to start without them, remove {}",
                          (training::run_folder(context.config) / "members.json").string())
            : std::string{};
    TROUPE_TRY(pause_before_retry(
        context, wait, backoff.next(),
        {Errc::network,
         fmt::format("{}; gave up after cluster.timeouts.quorum{}", why, way_out),
         {},
         Whose::there}));
  }
}

} // namespace troupe::actors
