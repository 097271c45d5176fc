/// Records of a run as the JSON of its folder (docs/files.md).
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/generated.hpp"
#include "metrics/records/recovery.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// A step, an epoch, a recovery or a generated text, as one line. A value that is not finite (a
/// loss of nan) becomes null.
template <HasFields Record>
std::string to_json(const Record& record);

// JSON of several lines, readable by people.
std::string to_json(const RunInfo& run);
std::string to_json(const RunSummary& summary);

// Empty if the text is not such a record. A null number becomes nan.
std::optional<StepRecord> parse_step(std::string_view json);
std::optional<EpochRecord> parse_epoch(std::string_view json);
std::optional<RecoveryRecord> parse_recovery(std::string_view json);
std::optional<GeneratedRecord> parse_generated(std::string_view json);
std::optional<RunInfo> parse_run_info(std::string_view json);
std::optional<RunSummary> parse_summary(std::string_view json);

} // namespace troupe::metrics
