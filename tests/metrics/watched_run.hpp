/// A run that a page follows, reduced to the interface that the server uses.
#pragma once

#include "metrics/http/endpoint.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace troupe::testing {

class WatchedRun {
public:
  /// Sets the change that the next tick reports, once.
  void change(std::string json) {
    const std::lock_guard lock{mutex_};
    changes_ = std::move(json);
  }
  /// Sets the change that every tick reports.
  void change_always(std::string json) {
    change(std::move(json));
    always_ = true;
  }
  void set_document(std::string json) {
    const std::lock_guard lock{mutex_};
    document_ = std::move(json);
  }
  bool is_watched() const { return watched_; }
  int times_watched() const { return times_watched_; } ///< how often a first watcher connected
  int documents() const { return documents_; }         ///< how many documents were made

  metrics::PageSources sources() {
    return {.document =
                [this] {
                  const std::lock_guard lock{mutex_};
                  ++documents_;
                  return document_;
                },
            .changes =
                [this] {
                  const std::lock_guard lock{mutex_};
                  return always_ ? changes_ : std::exchange(changes_, {});
                },
            .watched =
                [this](bool watched) {
                  watched_ = watched;
                  times_watched_ += watched ? 1 : 0;
                }};
  }
  metrics::EndpointSources endpoint_sources() {
    return {.metrics = [] { return std::string{"troupe_loss 1\n"}; },
            .readiness =
                [] {
                  return metrics::Readiness{true, "training"};
                },
            .targets = [] { return std::string{"[]\n"}; },
            .page = sources()};
  }

private:
  std::mutex mutex_;
  std::string document_ = R"({"kind":"run"})", changes_;
  std::atomic<bool> always_ = false, watched_ = false;
  std::atomic<int> documents_ = 0, times_watched_ = 0;
};

} // namespace troupe::testing
