#include "actors/node/asking.hpp"

#include "actors/caf_error.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "core/net/socket.hpp"

namespace troupe::actors {

namespace {

/// Errors: network if another attempt may succeed, else invalid_input.
Result<node_actor> reach(const JoinContext& context, const std::string& address) {
  if (address == context.info.address)
    return fail(Errc::invalid_input, "{} is this daemon's own address: it cannot join itself",
                address);
  const auto endpoint = net::peer_endpoint(address);
  const auto limit = context.config.cluster.timeouts.detection;
  if (const auto socket = net::connect_to(endpoint, limit); !socket)
    return failure(socket.error());
  auto daemon = connect(context.system, endpoint, context.network, limit);
  if (!daemon && daemon.error().whose == Whose::here)
    return fail(Errc::invalid_input, "{}", daemon.error().message);
  return daemon;
}

/// Returns the job that the daemon takes part in, and the leader that it names.
Result<JobHandle> ask_daemon(const JoinContext& context, const node_actor& daemon,
                             const std::string& address) {
  Result<JobHandle> found;
  caf::scoped_actor self{context.system};
  self->request(daemon, context.config.cluster.timeouts.detection, atom::join_v)
      .receive(
          [&](const membership_actor& membership, const std::string& leader) {
            found = JobHandle{membership, leader};
          },
          [&](const caf::error& error) {
            auto why =
                from_caf_error(error, {Errc::network, "it does not answer", {}, Whose::there});
            if (why.code == Errc::network)
              why.message = fmt::format("{} knows of no job: {}", address, why.message);
            found = failure(std::move(why));
          });
  return found;
}

/// Asks a daemon without a job which node it expects to begin one, and for the last record of a job
/// that has lost its leader, and may get another.
void ask_who_begins(const JoinContext& context, const node_actor& daemon, Answer& answer) {
  caf::scoped_actor self{context.system};
  self->request(daemon, context.config.cluster.timeouts.detection, atom::begin_v,
                context.info.address)
      .receive(
          [&](const training::Voter&, std::string& begins, bool has_ended,
              training::GenerationRecord& last) {
            answer.is_busy = begins.empty();
            answer.has_ended = has_ended;
            answer.begins = std::move(begins);
            answer.last = std::move(last);
          },
          [](const caf::error&) {}); // the daemon is lost
}

/// Asks the node that another one has named as the leader.
Result<JobHandle> ask_leader(const JoinContext& context, const std::string& address) {
  TROUPE_TRY(const auto daemon, reach(context, address));
  TROUPE_TRY(auto found, ask_daemon(context, daemon, address));
  if (found.leader == context.info.address)
    return fail(Whose::there, Errc::network, "{} reports that this node leads its job", address);
  return found;
}

} // namespace

Result<Answer> ask_about_job(const JoinContext& context, const std::string& address) {
  TROUPE_TRY(const auto daemon, reach(context, address));
  auto found = ask_daemon(context, daemon, address);
  if (found && found->leader == address)
    return Answer{.job = *found};
  if (found && found->leader != context.info.address) {
    auto leader = ask_leader(context, found->leader);
    if (leader)
      return Answer{.job = *leader};
    Answer busy{.why = leader.error(), .is_busy = true};
    if (busy.why.code != Errc::stopped)
      busy.why.code = Errc::network;
    return busy;
  }
  Answer answer{
      .why = found ? Error{Errc::network,
                           fmt::format(
                               "{} reports that this node leads its job, but this node leads none",
                               address),
                           {},
                           Whose::there}
                   : found.error()};
  ask_who_begins(context, daemon, answer);
  return answer;
}

Result<JobHandle> ask_for_job(const JoinContext& context, const std::string& address) {
  TROUPE_TRY(auto answer, ask_about_job(context, address));
  if (answer.job)
    return *std::move(answer.job);
  return failure(std::move(answer.why));
}

Result<Succession> ask_consensus(const JoinContext& context, std::int64_t generation) {
  constexpr std::chrono::milliseconds io_deadline{500};
  Result<Succession> told;
  caf::scoped_actor self{context.system};
  self->request(context.consensus, io_deadline, atom::follow_v, generation)
      .receive(
          [&](std::string& leader, training::GenerationRecord& last) {
            *told = {std::move(leader), std::move(last)};
          },
          [&](const caf::error& error) {
            if (error != caf::sec::request_timeout)
              told = failure(from_caf_error(error, {Errc::network, "the consensus actor died"}));
          });
  return told;
}

bool may_go_on(const JoinContext& context, const training::Voter& voter) {
  const auto limit = context.config.cluster.timeouts.detection;
  const auto endpoint = net::peer_endpoint(voter.address);
  if (net::is_refused(endpoint, limit))
    return false;
  auto daemon = connect(context.system, endpoint, context.network, limit);
  if (!daemon)
    return true; // it may be stopped, or cut off
  bool is_same = true;
  caf::scoped_actor self{context.system};
  self->request(*daemon, limit, atom::begin_v, context.info.address)
      .receive([&](const training::Voter& now, const std::string&, bool,
                   const training::GenerationRecord&) { is_same = now == voter; },
               [](const caf::error&) {}); // it may be busy
  return is_same;
}

} // namespace troupe::actors
