#include "actors/node/listen_address.hpp"

#include "actors/node/backoff.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "core/net/socket.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace troupe::actors {

namespace {

/// Notices a signal within 50 ms.
bool stop_asked_within(const RunOptions& options, std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds look{50};
  for (; limit.count() > 0 && !options.stop_asked(); limit -= look)
    std::this_thread::sleep_for(std::min(look, limit));
  return options.stop_asked();
}

} // namespace

Status await_listen_address(const ListenAddress& own, std::chrono::milliseconds limit,
                            const std::function<void(const std::string&)>& say,
                            const std::function<bool(std::chrono::milliseconds)>& stopped_within) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + limit;
  Backoff backoff{own.listen.port};
  for (bool first = true;; first = false) {
    const auto listener = net::listen_on({own.listen.host, 0});
    if (listener)
      return {};
    const auto why = fmt::format("{}: {}", own.key, listener.error().message);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return fail(Whose::between, Errc::network, "{}; gave up after {}", why,
                  format_duration(limit));
    if (first)
      say(why + "; trying again");
    if (stopped_within(std::min(backoff.next(), left)))
      return fail(Errc::stopped, "asked to stop: {}", why);
  }
}

Status await_listen_addresses(const Config& config, const RunOptions& options) {
  std::vector<ListenAddress> hosts = {{"cluster.listen", *parse_endpoint(config.cluster.listen)}};
  if (const auto metrics = parse_endpoint(config.metrics.listen))
    hosts.push_back({"metrics.listen", *metrics});
  for (const auto& host : hosts)
    TROUPE_TRY(await_listen_address(host, config.cluster.timeouts.quorum, options.on_waiting,
                                    [&](auto limit) { return stop_asked_within(options, limit); }));
  return {};
}

} // namespace troupe::actors
