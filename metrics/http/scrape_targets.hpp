/// The endpoints of all nodes, for Prometheus to find them by HTTP service discovery
/// (http_sd_configs in its configuration).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::metrics {

struct ScrapeTarget {
  std::string address; ///< HOST:PORT with /metrics
  std::map<std::string, std::string> labels;
};

/// Any thread may call anything.
class ScrapeTargets {
public:
  void set(std::vector<ScrapeTarget> targets);
  /// [{"labels": {"node": "host"}, "targets": ["host:9401"]}], as Prometheus reads it.
  std::string json() const;

private:
  mutable std::mutex mutex_;
  std::vector<ScrapeTarget> targets_;
};

} // namespace troupe::metrics
