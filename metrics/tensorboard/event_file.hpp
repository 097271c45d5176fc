/// RUN/tensorboard/: event files for TensorBoard.
///
/// Source: event.proto and summary.proto of TensorBoard, and the description of TFRecord in
/// TensorFlow's documentation.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/records/worker.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::metrics {

/// One event file. Hands each record to the operating system at once, so that a killed process
/// loses none. Blocks on files; one thread at a time.
class EventFile {
public:
  /// Creates the folder and a new file in it. The file marks steps from run.first_step on as
  /// repeated: TensorBoard drops them from earlier files. Errors: io, no_space.
  static Result<EventFile> create(const std::filesystem::path& folder, const RunInfo& run);

  const std::filesystem::path& path() const { return path_; }

  /// Whether a step is written: each of the first 100,000, then each 10th up to a million, each
  /// 100th up to ten million, ...: about 20 MB for each power of ten.
  static bool has_step(std::int64_t step);

  // After an error the file ends with the last whole record.
  Status append(const StepRecord& step);
  /// Includes the workers' peak memory, as far as noted.
  Status append(const EpochRecord& epoch);
  void note(const WorkerSummary& worker) { peaks_[worker.rank] = worker.peak_memory_bytes; }

private:
  EventFile(std::filesystem::path path, net::Descriptor file, const RunInfo& run)
      : path_{std::move(path)}, file_{std::move(file)}, run_{run} {}
  Status append(std::string_view record);

  std::filesystem::path path_;
  net::Descriptor file_;
  RunInfo run_;
  std::int64_t size_ = 0; ///< bytes in whole records
  std::int64_t last_step_ = 0;
  std::map<int, std::uint64_t> peaks_; ///< bytes, by rank
};

} // namespace troupe::metrics
