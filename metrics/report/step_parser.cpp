// Parses lines of events.jsonl. A resumed run may have millions, so values are taken by a SAX
// parser, without building a tree.
#include "core/json.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/time_stamp.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <variant>

namespace troupe::metrics {

namespace {

/// The member that receives a value; monostate: not a plain number.
using StepMember =
    std::variant<std::monostate, std::int64_t StepRecord::*, std::uint64_t StepRecord::*,
                 double StepRecord::*, std::optional<double> StepRecord::*>;

struct StepField {
  std::string_view key;
  StepMember member = {};
};

/// In the order of the file.
constexpr std::array<StepField, 29> step_fields = {{
    {"step", &StepRecord::step},
    {"epoch", &StepRecord::epoch},
    {"time"},
    {"loss", &StepRecord::loss},
    {"accuracy", &StepRecord::accuracy},
    {"lr", &StepRecord::lr},
    {"samples", &StepRecord::samples},
    {"seconds", &StepRecord::seconds},
    {"data_wait_seconds", &StepRecord::data_wait_seconds},
    {"compute_seconds", &StepRecord::compute_seconds},
    {"optimizer_seconds", &StepRecord::optimizer_seconds},
    {"collective_bytes", &StepRecord::collective_bytes},
    {"collective_seconds", &StepRecord::collective_seconds},
    {"collectives"},
    {"overlap_ratio", &StepRecord::overlap_ratio},
    {"mfu", &StepRecord::mfu},
    {"gradient_norm", &StepRecord::gradient_norm},
    {"slice_assignment"},
    {"dealing"}, // its name before 0.2
    {"staleness", &StepRecord::staleness},
    {"work_item_seconds", &StepRecord::item_seconds},
    {"lease_seconds", &StepRecord::item_seconds}, // its name before 0.2
    {"reads"},
    {"drift", &StepRecord::drift},
    {"round_bytes", &StepRecord::round_bytes},
    {"rounds"},
    {"loss_scale", &StepRecord::loss_scale},
    {"skipped_steps", &StepRecord::skipped_steps},
    {"loss_scale_growths", &StepRecord::scale_growths},
}};

/// Receives the events of nlohmann::json::sax_parse. Ignores values whose type does not match their
/// key.
class StepReader {
public:
  StepReader() {
    for (const auto& field : step_fields)
      if (const auto* member = std::get_if<double StepRecord::*>(&field.member))
        record_.** member = std::numeric_limits<double>::quiet_NaN();
  }

  std::optional<StepRecord> take() {
    return has_step_ ? std::optional{std::move(record_)} : std::nullopt;
  }

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t value) { return number(value); }
  bool number_unsigned(std::uint64_t value) { return number(value); }
  bool number_float(double value, const std::string&) { return number(value); }
  bool string(const std::string& value) {
    if (depth_ == 1 && field_ && field_->key == "time")
      record_.time = parse_utc(value).value_or(record_.time);
    return true;
  }
  bool binary(const nlohmann::json::binary_t&) { return true; }
  bool key(const std::string& name);
  bool start_object(std::size_t) { return enter(); }
  bool end_object() { return leave(); }
  bool start_array(std::size_t) { return enter(); }
  bool end_array() { return leave(); }
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

private:
  bool enter() { return ++depth_ <= max_json_depth; }
  bool leave() {
    --depth_;
    return true;
  }
  bool is_slice_assignment() const {
    return field_ && (field_->key == "slice_assignment" || field_->key == "dealing");
  }
  template <class Number>
  bool number(Number value);

  StepRecord record_;
  bool has_step_ = false;
  int depth_ = 0;
  const StepField* field_ = nullptr; ///< of the key at depth 1; null: unknown key
  std::size_t next_ = 0;             ///< the expected next field
  std::size_t kind_ = 0;             ///< of the collective at depth 2
  std::string use_;                  ///< the key at depth 3
};

/// Starts the search at the expected field: usually the first comparison matches.
bool StepReader::key(const std::string& name) {
  if (depth_ == 2) {
    const std::string_view word = name;
    const auto now = word == "buddy" ? "shard_replica" : word; // its name before 0.2
    kind_ = static_cast<std::size_t>(std::ranges::find(collective_kind_names, now) -
                                     collective_kind_names.begin());
    return true;
  }
  if (depth_ != 1) {
    use_ = name;
    return true;
  }
  field_ = nullptr;
  for (std::size_t i = 0; i < step_fields.size() && !field_; ++i)
    if (const auto at = (next_ + i) % step_fields.size(); step_fields[at].key == name) {
      field_ = &step_fields[at];
      next_ = at + 1;
    }
  if (is_slice_assignment())
    record_.slice_assignment.clear(); // the line may have it under both names
  return true;
}

template <class Number>
bool StepReader::number(Number value) {
  if (!field_)
    return true;
  if (depth_ == 3 && field_->key == "collectives" && kind_ < record_.collectives.size()) {
    auto& use = record_.collectives[kind_];
    if (use_ == "seconds")
      use.seconds = static_cast<double>(value);
    else if (use_ == "bytes" && std::is_integral_v<Number>)
      use.bytes = static_cast<std::uint64_t>(value);
  }
  if (depth_ == 2 && is_slice_assignment())
    record_.slice_assignment.push_back(static_cast<int>(value));
  if (depth_ != 1)
    return true;
  std::visit(
      [this, value](auto member) {
        if constexpr (!std::is_same_v<decltype(member), std::monostate>) {
          using Value = std::remove_reference_t<decltype(record_.*member)>;
          if constexpr (std::is_integral_v<Number> || !std::is_integral_v<Value>)
            record_.*member = static_cast<Value>(value);
        }
      },
      field_->member);
  if (std::is_integral_v<Number> && field_->key == "step")
    has_step_ = true;
  return true;
}

} // namespace

std::optional<StepRecord> parse_step(std::string_view json) {
  StepReader reader;
  if (!nlohmann::json::sax_parse(json, &reader))
    return std::nullopt;
  return reader.take();
}

} // namespace troupe::metrics
