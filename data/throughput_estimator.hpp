/// Estimates how fast workers compute slices, and when they will finish those that they have. Times
/// are seconds of any clock.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::data {

/// The unit of work of asynchronous training: a slice of a step's global batch, assigned to one
/// worker.
struct WorkItem {
  std::int64_t step = 0;
  int slice = 0;
  int worker = 0; ///< its rank

  bool operator==(const WorkItem&) const = default;
};

class ThroughputEstimator {
public:
  explicit ThroughputEstimator(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  /// Records that a slice was assigned to a worker, possibly before it has computed the previous
  /// one.
  void begin(const WorkItem& item, double now);
  /// Returns whether the slice is assigned to its worker and not yet computed.
  bool has(const WorkItem& item) const;
  /// Records that the worker has computed the slice. Returns the seconds since its assignment.
  /// Precondition: has(item).
  double complete(const WorkItem& item, double now);

  /// Returns the seconds that a worker takes for a slice; nothing before it has computed one.
  std::optional<double> slice(int worker) const { return of(worker).slice; }
  /// Returns when a worker will have computed all its slices: `now` if it has none, is overdue or
  /// has computed none yet.
  double free_at(int worker, double now) const;
  /// Returns when all assigned slices of a step will have been computed; nothing if a worker that
  /// has computed none yet has one of them.
  std::optional<double> end_of(std::int64_t step, double now) const;
  /// Returns when the other workers will have computed `slices` slices in addition to those that
  /// they have, if each goes to the worker that finishes it first. Infinity if none of them has
  /// computed one yet.
  double end_without(int worker, int slices, double now) const;

private:
  struct Held {
    WorkItem item;
    double since = 0;
  };
  struct Worker {
    std::optional<double> slice;                            ///< moving average of seconds per slice
    double last = -std::numeric_limits<double>::infinity(); ///< time of its last computed slice
    std::vector<Held> has;                                  ///< in the order of computing
  };
  const Worker& of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  /// Returns the expected end of each of a worker's slices. Precondition: it has computed one
  /// before.
  static std::vector<double> ends(const Worker& worker, double now);

  std::vector<Worker> workers_;
};

} // namespace troupe::data
