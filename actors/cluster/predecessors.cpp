#include "predecessors.hpp"

#include "asking.hpp"
#include "quorum.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/engine/resume.hpp"

#include <algorithm>
#include <set>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;

/// Those that decide without this node's help. It is not the process any more that was asked then.
std::vector<engine::Voter> others(const Applicant& applicant, const Members& before) {
  auto voters = before.voters;
  for (const auto& address : applicant.config.cluster.join)
    if (std::ranges::count(voters, address, &engine::Voter::address) == 0)
      voters.push_back({address, ""});
  for (const auto& node : before.nodes)
    if (std::ranges::count(voters, node.address, &engine::Voter::address) == 0)
      voters.push_back(node);
  return voters;
}

} // namespace

bool may_begin(const ClusterConfig& cluster, const std::string& address) {
  const auto& join = cluster.join;
  return join.empty() || (join.size() > 1 && join.front() == address);
}

Result<std::optional<JobPlace>> find_running_job(const Applicant& applicant,
                                                 const Members& before) {
  const auto end = Clock::now() + applicant.config.cluster.timeouts.quorum;
  const auto known = others(applicant, before);
  const auto deciding = before.voters.empty() ? known.size() : before.voters.size();
  for (bool first = true;; first = false) {
    std::set<std::size_t> doubtful;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].address == applicant.info.address)
        continue;
      auto found = ask_for_job(applicant, known[i].address);
      if (found)
        return std::move(*found);
      if (i < deciding && may_go_on(applicant, known[i]))
        doubtful.insert(i);
    }
    if (!is_quorum(doubtful, deciding))
      return std::nullopt;
    const auto why = fmt::format("{} of {} nodes that decided who takes part may go on with this "
                                 "run, and cannot be asked",
                                 doubtful.size(), deciding);
    if (first)
      applicant.say(why + "; trying again");
    if (Clock::now() > end)
      return fail(Errc::network, "{}, not within cluster.timeouts.quorum; without them: remove {}",
                  why, (engine::run_folder(applicant.config) / "members.json").string());
    if (applicant.stopped_within(pause_between_attempts))
      return fail(Errc::stopped, "asked to stop before others could be asked");
  }
}

} // namespace troupe::actors
