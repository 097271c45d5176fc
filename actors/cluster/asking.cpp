#include "asking.hpp"

#include "carried_error.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/net/socket.hpp"
#include "troupe/core/units.hpp"

namespace troupe::actors {

namespace {

/// Errors: network where it is worth trying again, because nothing listens there or the daemon has
/// no job yet; invalid_input for what time does not mend: another version, a certificate refused.
Result<JobPlace> ask_daemon(const Applicant& applicant, const std::string& address) {
  if (address == applicant.info.address)
    return fail(Errc::invalid_input, "{} is this daemon's own address: it cannot join itself",
                address);
  const auto endpoint = *parse_endpoint(address);
  const auto limit = applicant.config.cluster.timeouts.detection;
  if (const auto socket = net::connect_to(endpoint, limit); !socket)
    return failure(socket.error());
  auto daemon = connect(applicant.system, endpoint, applicant.network, limit);
  if (!daemon)
    return fail(Errc::invalid_input, "{}", daemon.error().message);
  Result<JobPlace> found;
  caf::scoped_actor self{applicant.system};
  self->request(*daemon, limit, atom::join_v)
      .receive(
          [&](const membership_actor& membership, const std::string& leader) {
            found = JobPlace{membership, leader};
          },
          [&](const caf::error& error) {
            found = fail(Errc::network, "{} knows of no job: {}", address,
                         error == caf::sec::runtime_error ? "it has not found one itself"
                                                          : caf::to_string(error));
          });
  return found;
}

} // namespace

Result<JobPlace> ask_for_job(const Applicant& applicant, const std::string& address) {
  auto found = ask_daemon(applicant, address);
  if (!found || found->leader == address || found->leader == applicant.info.address)
    return found;
  auto leader = ask_daemon(applicant, found->leader);
  return leader ? std::move(leader) : fail(Errc::network, "{}", leader.error().message);
}

Result<Succession> ask_voter(const Applicant& applicant, std::int64_t generation) {
  constexpr std::chrono::milliseconds patience{500};
  Result<Succession> told;
  caf::scoped_actor self{applicant.system};
  self->request(applicant.voter, patience, atom::lead_v, generation)
      .receive(
          [&](std::string& leader, engine::GenerationRecord& last) {
            *told = {std::move(leader), std::move(last)};
          },
          [&](const caf::error& error) {
            if (error != caf::sec::request_timeout)
              told = failure(carried(error, {Errc::network, "the voter died"}));
          });
  return told;
}

bool may_go_on(const Applicant& applicant, const engine::Voter& voter) {
  const auto limit = applicant.config.cluster.timeouts.detection;
  const auto endpoint = *parse_endpoint(voter.address);
  if (net::is_refused(endpoint, limit))
    return false;
  auto daemon = connect(applicant.system, endpoint, applicant.network, limit);
  if (!daemon)
    return true; // it may be stopped, or cut off
  bool is_same = true;
  caf::scoped_actor self{applicant.system};
  self->request(*daemon, limit, atom::vote_v)
      .receive([&](const engine::Voter& now) { is_same = now == voter; },
               [](const caf::error&) {}); // it may be busy
  return is_same;
}

} // namespace troupe::actors
