/// Clients that follow a run, and the server-sent events they receive.
#pragma once

#include "metrics/http/endpoint.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace troupe::metrics {

/// One text, shared by all followers.
using EventText = std::shared_ptr<const std::string>;

/// Sends the events of one follower.
class EventSink {
public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  /// Whether the last event has been sent completely.
  virtual bool is_free() const = 0;
  /// Precondition: is_free().
  virtual void send(EventText event) = 0;
};

/// Sends each follower the whole document, then its changes. A follower that has not received the
/// last event when the next is due skips it, and receives the whole document later. At most one
/// event is queued for each follower.
class Followers {
public:
  static constexpr std::size_t most = 16;

  explicit Followers(const PageSources& run) : run_{run} {}
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  std::size_t count() const { return followers_.size(); }
  /// Precondition: count() < most.
  void add(EventSink& sink);
  void remove(const EventSink& sink);
  void clear();
  /// Sends the changes; call once a second.
  void tick();
  /// Whether all followers have received all events.
  bool know_all() const;

private:
  struct Follower {
    EventSink* sink;
    bool behind = false; ///< has skipped an event
    int quiet = 0;       ///< seconds since its last event
  };
  EventText document() const;
  void serve(Follower& follower, const EventText& changes, EventText& whole);

  const PageSources& run_;
  std::vector<Follower> followers_;
};

} // namespace troupe::metrics
