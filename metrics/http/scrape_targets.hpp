/// The endpoints of all nodes, for Prometheus's HTTP service discovery (http_sd_configs).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::metrics {

struct ScrapeTarget {
  std::string address; ///< HOST:PORT that serves /metrics
  std::map<std::string, std::string> labels;
};

/// Thread-safe.
class ScrapeTargets {
public:
  void set(std::vector<ScrapeTarget> targets);
  /// [{"labels": {"node": "host"}, "targets": ["host:9401"]}], Prometheus's format.
  std::string json() const;

private:
  mutable std::mutex mutex_;
  std::vector<ScrapeTarget> targets_;
};

} // namespace troupe::metrics
