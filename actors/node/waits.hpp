/// The waits of a daemon, in one table, for its log and for `troupe status`. docs/cluster.md lists
/// them and their limits.
#pragma once

#include "actors/job_status.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace troupe::actors {

/// "30s of 5min", or "30s" without a limit.
std::string how_long(const WaitStatus& wait);

/// Thread-safe.
class Waits {
public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  class Row;

  /// `what` is the text after the daemon's name: "waiting for ...", "looking for ...". Without a
  /// limit (0) the wait lasts as long as the other side lives. The row is in the table until it is
  /// destroyed.
  Row begin(std::string what, std::chrono::milliseconds limit, Time now = Clock::now());
  /// Returns the wait that began last, because the earlier ones wait for its end. Empty if there is
  /// none.
  WaitStatus shown(Time now = Clock::now()) const;

private:
  struct Entry {
    std::string what;
    Time since;
    std::chrono::milliseconds limit;
    bool is_told = false;
  };
  struct Table {
    mutable std::mutex mutex;
    std::list<Entry> entries;
  };

  static WaitStatus status(const Entry& entry, Time now);

  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

/// One wait. May outlive the table.
class Waits::Row {
public:
  Row(Row&&) = default;
  Row& operator=(Row&&) = default;

  /// Changes the text of the wait.
  void rename(std::string what);
  /// Copies text and limit from another node's wait, on which this one depends. An empty one
  /// changes nothing.
  void take(const WaitStatus& told, Time now = Clock::now());
  WaitStatus status(Time now = Clock::now()) const;
  bool has_limit() const;
  bool is_over(Time now = Clock::now()) const;
  std::chrono::milliseconds left(Time now = Clock::now()) const;
  /// Returns the line for the log, once, after a tenth of the limit; empty: none is due.
  std::string due(Time now = Clock::now());

private:
  friend class Waits;
  Row(std::shared_ptr<Table> table, std::shared_ptr<Entry> entry)
      : table_{std::move(table)}, entry_{std::move(entry)} {}

  std::shared_ptr<Table> table_;
  std::shared_ptr<Entry> entry_; ///< removes itself from the table
};

} // namespace troupe::actors
