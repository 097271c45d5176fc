/// Hands metrics to a Prometheus Pushgateway: for jobs that may be over before they are scraped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace troupe::metrics {

struct PushOptions {
  std::string url;      ///< metrics.push: http://HOST:PORT, with what the gateway has as prefix
  std::string run;      ///< the run's name
  std::string instance; ///< which process of the run: "host", "host:7401"
  std::chrono::milliseconds every{15000};
  std::chrono::milliseconds time_limit{5000}; ///< of a push
};

/// PUTs a text to /metrics/job/troupe/run/RUN/instance/INSTANCE as long as it lives, and once more
/// with its end, which takes twice the time limit at most: of a push under way, and of that. A
/// thread of its own waits for the network.
class PushGateway {
public:
  using Text = std::function<std::string()>;
  /// Called when a push fails that did not fail before.
  using Warn = std::function<void(const std::string& why)>;

  PushGateway(PushOptions options, Text text, Warn warn);
  PushGateway(const PushGateway&) = delete;
  PushGateway& operator=(const PushGateway&) = delete;
  ~PushGateway();

private:
  void run();
  /// Until it ends, or the next push is due.
  bool ends();
  void push();

  const PushOptions options_;
  const Text text_;
  const Warn warn_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool failed_ = false; ///< the last push
  std::thread thread_;  ///< last: it uses all of the above
};

/// Where the metrics of a process go: the path below `url`, with what is not plain as %XX.
std::string push_address(const PushOptions& options);

/// A gateway's address without what must not be shown: "http://user:password@host" becomes
/// "http://host".
std::string without_password(std::string_view url);

} // namespace troupe::metrics
