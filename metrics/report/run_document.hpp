/// The document of a run, which its page shows, live or standalone (docs/files.md). It stays small
/// for any length of the run.
#pragma once

#include "metrics/records/field.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/worker.hpp"
#include "metrics/report/run_history.hpp"
#include "metrics/trace.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace troupe::metrics {

/// A daemon that is a member of the job.
struct NodeRecord {
  std::string name;                      ///< host name; on the page, the address if nodes share it
  std::string address;                   ///< HOST:PORT at which other nodes reach it
  std::string page = {};                 ///< HOST:PORT, also of its /metrics; empty: off
  std::string version = {};              ///< of the program
  std::string state = {};                ///< joining, active
  std::vector<std::string> devices = {}; ///< one per worker
  std::vector<std::int32_t> ranks = {};  ///< in the job, one per worker
  bool leads = false;
  std::optional<double> heartbeat_age_seconds = {}; ///< empty: not received here

  bool operator==(const NodeRecord&) const = default;
};

template <>
inline constexpr auto fields_of<NodeRecord> =
    std::tuple{field("name", &NodeRecord::name),
               field("address", &NodeRecord::address),
               field("page", &NodeRecord::page, {.if_empty = IfEmpty::null}),
               field("state", &NodeRecord::state),
               field("ranks", &NodeRecord::ranks),
               field("devices", &NodeRecord::devices),
               field("leads", &NodeRecord::leads),
               field("heartbeat_age_seconds", &NodeRecord::heartbeat_age_seconds),
               field("version", &NodeRecord::version)};

/// Totals of the actors of one role in this process.
struct ActorRecord {
  std::string name;
  std::int64_t count = 1;
  std::int64_t waiting = 0;                                        ///< messages in their mailboxes
  std::int64_t messages = 0;                                       ///< since the process began
  std::optional<double> messages_per_second = {}, busy_ratio = {}; ///< over the last second or so
};

template <>
inline constexpr auto fields_of<ActorRecord> =
    std::tuple{field("name", &ActorRecord::name),
               field("count", &ActorRecord::count),
               field("waiting", &ActorRecord::waiting),
               field("messages", &ActorRecord::messages),
               field("messages_per_second", &ActorRecord::messages_per_second),
               field("busy_ratio", &ActorRecord::busy_ratio)};

struct CheckpointTotals {
  std::optional<std::int64_t> written = 0; ///< empty: unknown
  std::int64_t failures = 0;
  std::optional<std::int64_t> last_step = {};
  std::optional<double> last_seconds = {};
  std::optional<std::uint64_t> last_bytes = {};
  std::optional<std::chrono::system_clock::time_point> last_time = {};
  std::string path = {}; ///< of the last checkpoint
};

template <>
inline constexpr auto fields_of<CheckpointTotals> =
    std::tuple{field("written", &CheckpointTotals::written),
               field("failures", &CheckpointTotals::failures),
               field("last_step", &CheckpointTotals::last_step),
               field("last_seconds", &CheckpointTotals::last_seconds),
               field("last_bytes", &CheckpointTotals::last_bytes),
               field("last_time", &CheckpointTotals::last_time),
               field("path", &CheckpointTotals::path, {.if_empty = IfEmpty::null})};

struct LogLine {
  std::chrono::system_clock::time_point time;
  std::string level, text;
};

template <>
inline constexpr auto fields_of<LogLine> = std::tuple{
    field("time", &LogLine::time), field("level", &LogLine::level), field("text", &LogLine::text)};

struct RunDocument {
  static constexpr std::size_t most_spans = 3000;

  std::string status, error; ///< error: empty if nothing has failed
  RunInfo run;
  RunHistory history;
  std::vector<WorkerSummary> workers;
  std::vector<NodeRecord> nodes;
  bool leads = true; ///< false: this process follows the leader of the job
  std::int64_t generation = 1;
  std::vector<ActorRecord> actors;
  std::optional<Timeline> timeline;
  CheckpointTotals checkpoints;
  Latest<LogLine, 50> log;
  std::string config;
};

/// The top-level keys of the document that can change.
enum class DocumentPart : std::uint8_t {
  status,
  error,
  run,
  progress,
  steps,
  epochs,
  step_seconds,
  workers,
  nodes,
  leads,
  generation,
  recoveries,
  generated,
  actors,
  timeline,
  checkpoints,
  log,
  config
};

inline constexpr auto document_parts = static_cast<std::size_t>(DocumentPart::config) + 1;

std::string_view key_of(DocumentPart part);

/// The value of a part, as JSON; for the steps, only the points from index `from` on.
std::string json_of(const RunDocument& document, DocumentPart part, std::size_t from = 0);

/// The whole document of a standalone page.
std::string to_json(const RunDocument& document, std::chrono::system_clock::time_point made);

/// Assembles the document from JSON of its parts, indexed by DocumentPart; `live`: for a page that
/// follows the run.
std::string document_of(const std::array<std::string, document_parts>& parts, bool live,
                        std::chrono::system_clock::time_point made);

} // namespace troupe::metrics
