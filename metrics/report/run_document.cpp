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

struct PartTraits {
  std::string_view key;
  std::string (*json)(const RunDocument&);
};

/// By DocumentPart.
constexpr std::array<PartTraits, document_parts> part_traits = {
    {{"status", [](const RunDocument& document) { return dumped(document.status); }},
     {"error", [](const RunDocument& document) { return dumped(text_or_null(document.error)); }},
     {"run", [](const RunDocument& document) { return dumped(to_value(document.run)); }},
     {"progress",
      [](const RunDocument& document) {
        return dumped(to_value(document.history.progress.now()));
      }},
     {"steps", [](const RunDocument& document) { return json_of(document.history.steps, 0); }},
     {"epochs",
      [](const RunDocument& document) {
        return dumped(to_value(document.history.epochs.epochs()));
      }},
     {"step_seconds",
      [](const RunDocument& document) { return json_of(document.history.step_seconds); }},
     {"workers", [](const RunDocument& document) { return dumped(json_of_workers(document)); }},
     {"nodes", [](const RunDocument& document) { return dumped(to_value(document.nodes)); }},
     {"leads",
      [](const RunDocument& document) { return std::string{document.leads ? "true" : "false"}; }},
     {"generation",
      [](const RunDocument& document) { return std::to_string(document.generation); }},
     {"recoveries",
      [](const RunDocument& document) {
        return dumped(to_value(document.history.recoveries.records()));
      }},
     {"generated",
      [](const RunDocument& document) {
        return dumped(to_value(document.history.generated.records()));
      }},
     {"actors", [](const RunDocument& document) { return dumped(to_value(document.actors)); }},
     {"timeline",
      [](const RunDocument& document) {
        return document.timeline ? json_of_timeline(*document.timeline) : "null";
      }},
     {"checkpoints",
      [](const RunDocument& document) { return dumped(to_value(document.checkpoints)); }},
     {"log", [](const RunDocument& document) { return dumped(to_value(document.log.records())); }},
     {"config", [](const RunDocument& document) { return dumped(document.config); }}}};
static_assert(part_traits.back().json, "every part has a line");

} // namespace

std::string_view key_of(DocumentPart part) {
  return part_traits[static_cast<std::size_t>(part)].key;
}

std::string json_of(const RunDocument& document, DocumentPart part, std::size_t from) {
  return part == DocumentPart::steps ? json_of(document.history.steps, from)
                                     : part_traits[static_cast<std::size_t>(part)].json(document);
}

std::string document_of(const std::array<std::string, document_parts>& parts, bool live,
                        std::chrono::system_clock::time_point made) {
  auto text = fmt::format(R"({{"kind":"run","live":{},"made":"{}")", live, utc_milliseconds(made));
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += fmt::format(",\"{}\":{}", part_traits[i].key, parts[i]);
  return text + "}";
}

std::string to_json(const RunDocument& document, std::chrono::system_clock::time_point made) {
  std::array<std::string, document_parts> parts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = json_of(document, static_cast<DocumentPart>(i));
  return document_of(parts, false, made);
}

} // namespace troupe::metrics
