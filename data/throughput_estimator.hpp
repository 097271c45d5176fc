/// How fast those are whom slices are dealt to one by one, and when they will have computed what
/// they have. Times are seconds of any clock.
#pragma once

#include "data/work_tracker.hpp"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::data {

class ThroughputEstimator {
public:
  explicit ThroughputEstimator(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  /// A worker was dealt a slice: perhaps before it has computed the one before.
  void begin(int worker, const WorkItem& item, double now);
  /// Whether the worker was dealt the slice, and has not computed it yet.
  bool has(int worker, const WorkItem& item) const;
  /// It has computed it. Returns how long it had it. Precondition: it was dealt it, and has not
  /// yet.
  double come(int worker, const WorkItem& item, double now);

  /// How long a worker takes for a slice; nothing before it has computed one.
  std::optional<double> slice(int worker) const { return of(worker).slice; }
  /// When a worker will have computed all that it has: now where that is nothing, or is late.
  double free_at(int worker, double now) const;
  /// When all slices of a step that were dealt will have been computed; nothing where one of them
  /// is with a worker that has computed none yet.
  std::optional<double> end_of(std::int64_t step, double now) const;
  /// When the others will have computed so many slices more than they have, each going to who has
  /// it done first. Infinity where none of them has computed one yet.
  double end_without(int worker, int slices, double now) const;

private:
  struct Held {
    WorkItem item;
    double since = 0;
  };
  struct Worker {
    std::optional<double> slice;                            ///< recent ones count more
    double last = -std::numeric_limits<double>::infinity(); ///< when one was computed
    std::vector<Held> has;                                  ///< in the order of computing
  };
  const Worker& of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  /// Ends of all that a worker has. Precondition: it has computed one before.
  static std::vector<double> ends(const Worker& worker, double now);

  std::vector<Worker> workers_;
};

} // namespace troupe::data
