#include "metrics/report/run_json.hpp"

#include "core/json.hpp"
#include "metrics/report/detail/record_json.hpp"
#include "metrics/report/detail/record_reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace troupe::metrics {

namespace {

/// Receives the events of nlohmann::json::sax_parse.
class ObjectReader {
public:
  ObjectReader(const Place& record, std::string_view key) : record_{record}, required_{key} {
    open_.reserve(4); // records are rarely nested deeper
  }

  bool has_required() const { return has_required_; }

  bool null() { return put_nothing(); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(const nlohmann::json::binary_t&) { return put_nothing(); }
  bool start_object(std::size_t) { return open({.place = target()}); }
  bool start_array(std::size_t) { return open({.place = target(), .is_list = true}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name);
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

private:
  struct Container {
    Place place;
    bool is_list = false;
    std::size_t next = 0; ///< the next item, or the field that is expected next
  };

  /// The place of the next value.
  Place target();
  bool put(JsonScalar value) {
    target().put(value);
    return true;
  }
  bool put_nothing() {
    target();
    return true;
  }
  bool open(const Container& container) {
    open_.push_back(container);
    return open_.size() <= max_json_depth;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const Place record_;
  const std::string_view required_;
  bool has_required_ = false;
  Place member_;                ///< of the last key
  std::vector<Container> open_; ///< from the outermost to the innermost
};

Place ObjectReader::target() {
  if (open_.empty())
    return record_;
  auto& inside = open_.back();
  return inside.is_list ? inside.place.item(inside.next++) : member_;
}

bool ObjectReader::key(const std::string& name) {
  auto& inside = open_.back();
  member_ = inside.place.member(name, inside.next);
  has_required_ |= open_.size() == 1 && name == required_;
  return true;
}

} // namespace

bool read_object(std::string_view json, const Place& record, std::string_view key) {
  ObjectReader reader{record, key};
  return nlohmann::json::sax_parse(json, &reader) && reader.has_required();
}

Place member_of(CollectiveUses& uses, std::string_view key, std::size_t& /*next*/) {
  const std::string_view now = key == "buddy" ? "shard_replica" : key; // its name before 0.2
  const auto kind = std::ranges::find(collective_kind_names, now) - collective_kind_names.begin();
  return kind < std::ssize(uses) ? Place::of(uses[static_cast<std::size_t>(kind)]) : Place{};
}

Place member_of(MemoryUse& memory, std::string_view key, std::size_t& /*next*/) {
  for (std::size_t i = 0; i < memory_kinds; ++i)
    if (to_string(static_cast<MemoryKind>(i)) == key)
      return Place::of(memory.peak[i]);
  return {};
}

OrderedJson to_value(std::chrono::system_clock::time_point time) {
  return utc_milliseconds(time);
}

OrderedJson to_value(StrategyKind strategy) {
  return to_string(strategy);
}

OrderedJson bytes_by_kind(const std::array<std::size_t, memory_kinds>& bytes) {
  auto object = OrderedJson::object();
  for (std::size_t i = 0; i < memory_kinds; ++i)
    object[std::string(to_string(static_cast<MemoryKind>(i)))] = bytes[i];
  return object;
}

OrderedJson to_value(const MemoryUse& memory) {
  return bytes_by_kind(memory.peak);
}

OrderedJson to_value(const CollectiveUses& uses) {
  auto object = OrderedJson::object();
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (const auto& use = uses[i]; use != CollectiveUse{})
      object[std::string(collective_kind_names[i])] = to_value(use);
  return object;
}

template <HasFields Record>
std::string to_json(const Record& record) {
  return dumped(to_value(record));
}

template std::string to_json(const StepRecord& record);
template std::string to_json(const EpochRecord& record);
template std::string to_json(const RecoveryRecord& record);
template std::string to_json(const GeneratedRecord& record);

std::string to_json(const RunInfo& run) {
  return dumped(to_value(run), 2) + "\n";
}

std::string to_json(const RunSummary& summary) {
  return dumped(to_value(summary), 2) + "\n";
}

std::optional<StepRecord> parse_step(std::string_view json) {
  constexpr auto none = std::numeric_limits<std::int64_t>::min();
  auto step = unknown_value<StepRecord>();
  step.step = none;
  const bool is_read = read_object(json, Place::of(step), "step");
  return is_read && step.step != none ? std::optional{std::move(step)} : std::nullopt;
}

std::optional<EpochRecord> parse_epoch(std::string_view json) {
  return read_record<EpochRecord>(json, "epoch");
}

std::optional<RecoveryRecord> parse_recovery(std::string_view json) {
  return read_record<RecoveryRecord>(json, "generation");
}

std::optional<GeneratedRecord> parse_generated(std::string_view json) {
  return read_record<GeneratedRecord>(json, "text");
}

std::optional<RunInfo> parse_run_info(std::string_view json) {
  auto run = read_record<RunInfo>(json, "total_steps");
  if (run && run->sample_name.empty()) // in files of earlier versions
    run->sample_name = RunInfo{}.sample_name;
  return run;
}

std::optional<RunSummary> parse_summary(std::string_view json) {
  auto summary = read_record<RunSummary>(json, "status");
  if (!summary)
    return std::nullopt;
  summary->sample_name = RunInfo{}.sample_name; // only run.json has it
  if (std::isnan(summary->checkpoint_seconds))  // in files of earlier versions
    summary->checkpoint_seconds = 0;
  for (auto& worker : summary->workers)
    worker.memory.total_peak = worker.peak_memory_bytes;
  return summary;
}

} // namespace troupe::metrics
