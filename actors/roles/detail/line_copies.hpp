/// The lines of a run's files on their way to other nodes.
#pragma once

#include "actors/roles/detail/write_errors.hpp"
#include "metrics/report/history.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace troupe::actors {

/// The leader sends the lines that another node lacks. A node that may lead one day keeps a copy.
class LineCopies {
public:
  /// `errors` must outlive it.
  explicit LineCopies(WriteErrors& errors) : errors_{errors} {}

  /// This node leads: it reads lines in the run's folder, whose opening has this name.
  void send_from(std::filesystem::path run, std::string opening) {
    run_ = std::move(run);
    opening_ = std::move(opening);
  }
  /// This node keeps a copy.
  void keep_in(const std::filesystem::path& run) { kept_.emplace(run); }

  /// How many lines the copy has; empty: there is none, or it could not be written.
  std::optional<metrics::HistoryPlace> place() const {
    return kept_ ? std::optional{kept_->place()} : std::nullopt;
  }
  void keep(const metrics::HistoryChunk& part) {
    const auto kept = kept_->add(part);
    errors_.warn(kept);
    if (!kept)
      kept_.reset();
  }
  /// Returns the lines after this position; none unless this node leads.
  metrics::HistoryChunk lines_after(const metrics::HistoryPlace& there) const {
    return run_.empty() ? metrics::HistoryChunk{} : metrics::read_history(run_, opening_, there);
  }
  /// Makes the copy the run's files, because this node leads from now on. Errors: io, no_space.
  Status hand_over() const { return kept_ ? kept_->hand_over() : Status{}; }
  void remove() {
    if (kept_)
      kept_->remove();
  }

private:
  WriteErrors& errors_;
  std::filesystem::path run_; ///< empty: does not send
  std::string opening_;
  std::optional<metrics::KeptHistory> kept_;
};

} // namespace troupe::actors
