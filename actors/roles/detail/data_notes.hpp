/// Notes on files of the data sets that could not be read.
#pragma once

#include "data/file_notes.hpp"
#include "training/job.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <string_view>
#include <vector>

namespace troupe::actors {

class DataNotes {
public:
  explicit DataNotes(std::shared_ptr<spdlog::logger> log) : log_{std::move(log)} {}

  /// Logs which files a data set leaves out, and watches the job's data from now on.
  void watch(const training::Job& job);
  /// Logs the files that were skipped since the last call.
  void log_new();
  /// Logs how many were skipped in all.
  void log_total() const;
  data::FileNotes::Counts counts() const;

private:
  /// `request`: the use of the data, for the log.
  void watch(const data::Adapter& adapter, std::string_view request);

  std::shared_ptr<spdlog::logger> log_;
  std::vector<std::shared_ptr<data::FileNotes>> unreadable_, damaged_; ///< by split
};

} // namespace troupe::actors
