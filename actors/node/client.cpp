#include "actors/node/client.hpp"

#include "actors/caf_error.hpp"
#include "actors/node/network.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

/// An actor system for one conversation with a daemon.
class Conversation {
public:
  explicit Conversation(const ClientOptions& options)
      : options_{options}, deadline_{Clock::now() + options.timeout}, network_{options.version,
                                                                               options.tls},
        config_{network_}, system_{config_}, self_{system_} {}

  Status begin() {
    TROUPE_TRY(node_, connect(system_, options_.daemon, network_, left()));
    return {};
  }

  Result<JobStatus> status(std::chrono::milliseconds limit) {
    Result<JobStatus> answer;
    self_->request(node_, limit, atom::status_v)
        .receive([&](JobStatus& status) { answer = std::move(status); },
                 [&](const caf::error& error) { answer = no_answer(error); });
    return answer;
  }

  /// With `wait`, returns when the connection is closed, which happens when the daemon's process
  /// ends.
  Status ask_for_end(StopReason what, bool wait) {
    Status answer;
    self_->monitor(node_.node());
    self_->request(node_, left(), atom::stop_v, what)
        .receive([] {}, [&](const caf::error& error) { answer = no_answer(error); });
    if (answer && wait)
      self_->receive([](const caf::node_down_msg&) {});
    return answer;
  }

  std::chrono::milliseconds left() const {
    using std::chrono::milliseconds;
    return std::max(std::chrono::ceil<milliseconds>(deadline_ - Clock::now()), milliseconds{1});
  }

private:
  using Clock = std::chrono::steady_clock;

  /// Returns the daemon's own error if it answered with one.
  tl::unexpected<Error> no_answer(const caf::error& error) const {
    return failure(from_caf_error(
        error,
        {Errc::network, "the daemon at " + to_string(options_.daemon) + " does not answer"}));
  }

  const ClientOptions& options_;
  Clock::time_point deadline_; ///< for all exchanges together
  NetworkOptions network_;
  SystemConfig config_;
  caf::actor_system system_;
  caf::scoped_actor self_;
  node_actor node_;
};

/// No fewer than CAF starts for a conversation.
constexpr int threads_of_client = 8;

} // namespace

Result<JobStatus> ask_status(const ClientOptions& options) {
  TROUPE_TRY(expect_threads(threads_of_client));
  Conversation conversation{options};
  TROUPE_TRY(conversation.begin());
  return conversation.status(conversation.left());
}

Result<JobStatus> ask_to_stop(const ClientOptions& options, StopReason what, bool wait) {
  TROUPE_TRY(expect_threads(threads_of_client));
  Conversation conversation{options};
  TROUPE_TRY(conversation.begin());
  const auto before = conversation.status(options.timeout / 4);
  TROUPE_TRY(conversation.ask_for_end(what, wait));
  return before.value_or(JobStatus{});
}

} // namespace troupe::actors
