/// Those who follow a run, and what each of them gets: server-sent events.
#pragma once

#include "metrics/http/page_sources.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace troupe::metrics {

/// One text for all who get it.
using EventText = std::shared_ptr<const std::string>;

/// Where a follower's events go.
class EventSink {
public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  /// Whether it has taken the last one.
  virtual bool is_free() const = 0;
  /// Requires is_free().
  virtual void send(EventText event) = 0;
};

/// Each begins with the whole document and gets its changes; who has not taken the last event when
/// the next is due misses it, and later gets the whole document instead. So no more than one event
/// waits for anybody.
class Followers {
public:
  static constexpr std::size_t most = 16;

  explicit Followers(const PageSources& run) : run_{run} {}
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  std::size_t count() const { return followers_.size(); }
  /// Requires count() < most.
  void add(EventSink& sink);
  void remove(const EventSink& sink);
  void clear();
  /// Once a second.
  void tick();
  /// Whether each has taken all that there was to tell.
  bool know_all() const;

private:
  struct Follower {
    EventSink* sink;
    bool behind = false; ///< has missed an event
    int quiet = 0;       ///< seconds since it was sent something
  };
  EventText document() const;
  void serve(Follower& follower, const EventText& changes, EventText& whole);

  const PageSources& run_;
  std::vector<Follower> followers_;
};

} // namespace troupe::metrics
