/// Pushes metrics to a Prometheus Pushgateway, for jobs that may end before they are scraped.
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
  std::string url;      ///< metrics.push: http://HOST:PORT, with the gateway's path prefix
  std::string run;      ///< the run's name
  std::string instance; ///< identifies the process within the run: "host", "host:7401"
  std::chrono::milliseconds every{15000};
  std::chrono::milliseconds time_limit{5000}; ///< of one push
};

/// PUTs a text to /metrics/job/troupe/run/RUN/instance/INSTANCE every `every`, on a thread of its
/// own. The destructor pushes once more. It blocks for at most twice the time limit: for a push in
/// progress and for the last one.
class PushGateway {
public:
  using Text = std::function<std::string()>;
  /// Called when a push fails after a successful one, or the first push fails.
  using Warn = std::function<void(const std::string& why)>;

  PushGateway(PushOptions options, Text text, Warn warn);
  PushGateway(const PushGateway&) = delete;
  PushGateway& operator=(const PushGateway&) = delete;
  ~PushGateway();

private:
  void run();
  void push();

  const PushOptions options_;
  const Text text_;
  const Warn warn_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool failed_ = false; ///< whether the last push failed
  std::thread thread_;  ///< last: it uses all members above
};

/// Returns the URL that is pushed to, below `url`; percent-encodes the run and the instance.
std::string push_address(const PushOptions& options);

/// Removes the credentials from a URL: "http://user:password@host" becomes "http://host".
std::string without_password(std::string_view url);

} // namespace troupe::metrics
