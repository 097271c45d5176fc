/// The lines of a run's files on their way to other nodes.
#pragma once

#include "actors/roles/detail/write_errors.hpp"
#include "metrics/report/history.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::actors {

/// The leader sends the lines that another node lacks. A node that may lead one day keeps a copy.
class LineCopies {
public:
  /// `errors` must outlive it.
  explicit LineCopies(WriteErrors& errors) : errors_{errors} {}

  /// This node leads: it reads lines in the run's folder, whose opening has this name.
  void send_from(std::filesystem::path run, std::string opening);
  /// This node keeps a copy.
  void keep_in(const std::filesystem::path& run) { kept_.emplace(run); }

  /// How many lines the copy has; empty: there is none, or it could not be written.
  std::optional<metrics::HistoryPlace> place() const;
  void keep(const metrics::HistoryChunk& part);
  /// Returns the lines after this position; none unless this node leads.
  metrics::HistoryChunk lines_after(const metrics::HistoryPlace& there) const;
  /// Makes the copy the run's files, because this node leads from now on. Errors: io, no_space.
  Status hand_over() const;
  void remove();

private:
  WriteErrors& errors_;
  std::filesystem::path run_; ///< empty: does not send
  std::string opening_;
  std::optional<metrics::KeptHistory> kept_;
};

} // namespace troupe::actors
