#include "metrics/report/run_document.hpp"

#include "metrics/report/detail/history_json.hpp"
#include "metrics/report/detail/record_json.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::metrics {

namespace {

const std::string& node_of(std::int32_t rank, const std::vector<NodeRecord>& nodes) {
  static const std::string unknown;
  const auto found = std::ranges::find_if(
      nodes, [rank](const NodeRecord& node) { return std::ranges::count(node.ranks, rank) > 0; });
  return found != nodes.end() ? found->name : unknown;
}

/// A worker's time in steps, without double counting: parts that overlap computing are excluded.
double own_seconds(const WorkerSummary& worker) {
  return worker.compute_seconds + worker.data_wait_seconds + worker.collective_seconds +
         (worker.optimizer_seconds > 0 ? worker.optimizer_seconds : 0); // nan in earlier versions
}

OrderedJson json_of_workers(const RunDocument& document) {
  auto all = OrderedJson::array();
  for (const auto& worker : document.workers) {
    const auto own = own_seconds(worker);
    const bool measured = worker.steps > 0 && own > 0;
    const auto part = [&](double seconds) {
      const auto whole = worker.step_seconds > 0 ? worker.step_seconds : own;
      return number_or_null(measured ? known_ratio(seconds, whole) : std::nullopt);
    };
    const bool is_now = worker.memory.total > 0;
    all.push_back(
        {{"rank", worker.rank},
         {"device", worker.device},
         {"node", text_or_null(node_of(worker.rank, document.nodes))},
         {"peak_memory_bytes", worker.peak_memory_bytes},
         {"memory_bytes", is_now ? OrderedJson(worker.memory.total) : OrderedJson(nullptr)},
         {"memory_limit_bytes", worker.memory_limit_bytes > 0
                                    ? OrderedJson(worker.memory_limit_bytes)
                                    : OrderedJson(nullptr)},
         {"bytes_by_kind", is_now ? bytes_by_kind(worker.memory.current) : OrderedJson(nullptr)},
         {"peak_bytes_by_kind", bytes_by_kind(worker.memory.peak)},
         {"busy_ratio", worker.busy_ratio},
         {"data_wait_ratio", part(worker.data_wait_seconds)},
         {"collective_ratio", part(worker.collective_seconds)},
         {"optimizer_ratio", part(worker.optimizer_seconds)},
         {"step_seconds",
          number_or_null(measured ? std::optional{own / static_cast<double>(worker.steps)}
                                  : std::nullopt)}});
  }
  return all;
}

OrderedJson json_of_nodes(const std::vector<NodeRecord>& nodes) {
  auto all = OrderedJson::array();
  for (const auto& node : nodes)
    all.push_back({{"name", node.name},
                   {"address", node.address},
                   {"page", text_or_null(node.page)},
                   {"state", node.state},
                   {"ranks", node.ranks},
                   {"devices", node.devices},
                   {"leads", node.leads},
                   {"heartbeat_age_seconds", to_value(node.heartbeat_age_seconds)},
                   {"version", node.version}});
  return all;
}

OrderedJson json_of_actors(const std::vector<ActorRecord>& actors) {
  auto all = OrderedJson::array();
  for (const auto& actor : actors)
    all.push_back({{"name", actor.name},
                   {"count", actor.count},
                   {"waiting", actor.waiting},
                   {"messages", actor.messages},
                   {"messages_per_second", to_value(actor.messages_per_second)},
                   {"busy_ratio", to_value(actor.busy_ratio)}});
  return all;
}

/// Writes times with nanoseconds, which is shorter than all digits of a double.
std::string json_of_timeline(const Timeline& timeline) {
  std::string text;
  for (const auto& row : timeline.rows) {
    text += fmt::format(R"({}{{"group":{},"name":{},"spans":[)", text.empty() ? "" : ",",
                        dumped(row.group), dumped(row.name));
    const char* separator = "";
    for (const auto& span : row.spans) {
      text += fmt::format("{}[{:.9f},{:.9f},{},{}]", separator, span.begin, span.seconds,
                          static_cast<int>(span.kind), dumped(span.name));
      separator = ",";
    }
    text += "]}";
  }
  return fmt::format(R"({{"step":{},"seconds":{:.9f},"kinds":{},"rows":[{}],"dropped":{}}})",
                     timeline.step, timeline.seconds, dumped(span_kind_names), text,
                     timeline.dropped);
}

OrderedJson json_of_checkpoints(const CheckpointTotals& totals) {
  return {
      {"written", to_value(totals.written)},       {"failures", totals.failures},
      {"last_step", to_value(totals.last_step)},   {"last_seconds", to_value(totals.last_seconds)},
      {"last_bytes", to_value(totals.last_bytes)}, {"last_time", to_value(totals.last_time)},
      {"path", text_or_null(totals.path)}};
}

OrderedJson json_of_log(const std::deque<LogLine>& log) {
  auto lines = OrderedJson::array();
  for (const auto& line : log)
    lines.push_back(
        {{"time", utc_milliseconds(line.time)}, {"level", line.level}, {"text", line.text}});
  return lines;
}

using Document = const RunDocument&;

/// Write the parts of a document, by DocumentPart.
constexpr std::array<std::string (*)(Document), document_keys.size()> writers = {
    [](Document document) { return dumped(document.status); },
    [](Document document) { return dumped(text_or_null(document.error)); },
    [](Document document) { return dumped(to_value(document.run)); },
    [](Document document) { return dumped(to_value(document.history.progress.now())); },
    [](Document document) { return json_of(document.history.steps, 0); },
    [](Document document) { return json_of_all(document.history.epochs.epochs()); },
    [](Document document) { return json_of(document.history.step_seconds); },
    [](Document document) { return dumped(json_of_workers(document)); },
    [](Document document) { return dumped(json_of_nodes(document.nodes)); },
    [](Document document) { return std::string{document.leads ? "true" : "false"}; },
    [](Document document) { return std::to_string(document.generation); },
    [](Document document) { return json_of_all(document.history.recoveries.records()); },
    [](Document document) { return json_of_all(document.history.generated.records()); },
    [](Document document) { return dumped(json_of_actors(document.actors)); },
    [](Document document) {
      return document.timeline ? json_of_timeline(*document.timeline) : "null";
    },
    [](Document document) { return dumped(json_of_checkpoints(document.checkpoints)); },
    [](Document document) { return dumped(json_of_log(document.log.records())); },
    [](Document document) { return dumped(document.config); }};

} // namespace

std::string json_of(const RunDocument& document, DocumentPart part, std::size_t from) {
  return part == DocumentPart::steps ? json_of(document.history.steps, from)
                                     : writers[static_cast<std::size_t>(part)](document);
}

std::string document_of(const std::array<std::string, document_keys.size()>& parts, bool live,
                        std::chrono::system_clock::time_point made) {
  auto text = fmt::format(R"({{"kind":"run","live":{},"made":"{}")", live, utc_milliseconds(made));
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += fmt::format(",\"{}\":{}", document_keys[i], parts[i]);
  return text + "}";
}

std::string to_json(const RunDocument& document, bool live,
                    std::chrono::system_clock::time_point made) {
  std::array<std::string, document_keys.size()> parts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = json_of(document, static_cast<DocumentPart>(i));
  return document_of(parts, live, made);
}

} // namespace troupe::metrics
