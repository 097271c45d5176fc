/// How keys of other programs are translated: one row per key. The import, its report and the
/// tables of docs/from-accelerate.md all use the rows.
#pragma once

#include "importers/document.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class Fate : std::uint8_t {
  mapped,   ///< keys of troupe have the same meaning
  built_in, ///< troupe always does this
  left_out, ///< not supported; training is unaffected
  refused,  ///< not supported, and it changes the training
  idle,     ///< no effect: it is off, or its feature is
  open,     ///< "auto": the original script fills it in
  wrong,    ///< not a valid value of the key
  unknown,  ///< no row has the key; left out, with a warning
};

/// How a fate is named in the tables of the documentation, and at the begin of a line of the
/// report.
struct FateNames {
  std::string_view in_table, in_report;
};
const FateNames& names_of(Fate fate);

/// Precedence among several settings of one key: the firmest wins. Two firm ones must agree.
enum class Firmness : std::uint8_t {
  default_value, ///< the other program's default
  weak,          ///< may be overridden by another key in that program too
  firm,
};

/// A key of troupe and its value, as YAML.
struct ForeignSetting {
  std::string key, value;
  Firmness firmness = Firmness::firm;
};
using ForeignSettings = std::vector<ForeignSetting>;

struct ForeignOutcome {
  Fate fate = Fate::mapped;
  std::string says = {};
  ForeignSettings settings = {};
  std::string allowed = {}, suggestion = {}; ///< for a wrong value
};

/// How many processes train, on how many machines.
struct ForeignWorld {
  std::int64_t machines = 1, processes = 1;
  bool known = false;

  std::int64_t per_machine() const { return processes / machines; }
};

/// The input of a row's function besides its entry.
struct ForeignContext {
  const ForeignDocument& document;
  ForeignWorld world;
  std::optional<std::int64_t> steps_per_epoch = {};
  std::string precision = {};                 ///< accelerate's mixed_precision for this file
  const ForeignDocument* deepspeed = nullptr; ///< named by deepspeed_config_file
  std::string_view auto_below = {};           ///< section in which "auto" is a value
  bool allows_unknown = false;                ///< programs add custom keys to the file

  const ForeignEntry* find(std::string_view key) const { return document.find(key); }
};

/// Translates a value of a row's key.
using ForeignMap = std::function<ForeignOutcome(const ForeignContext&, const ForeignEntry&)>;

struct ForeignRow {
  std::string key;       ///< "flops_profiler.*": all keys below
  Fate fate;             ///< of a value that has an effect, without `map`
  std::string_view says; ///< the keys it maps to; else why not, and what to do instead
  ForeignMap map = {};
  /// Condition "KEY" (is on) or "KEY=VALUE". If it does not hold, the row's key is idle. A missing
  /// KEY does not hold.
  std::string_view when = {};
  std::string_view neutral = {}; ///< another value without effect, besides false, 0, none and such
  bool needed = false;           ///< null is not a valid value
};
using ForeignRows = std::vector<ForeignRow>;

ForeignRows accelerate_rows();
ForeignRows deepspeed_rows();
ForeignRows hugging_face_rows();

/// Returns the row of a key; null: none.
const ForeignRow* find_row(std::span<const ForeignRow> rows, std::string_view key);

/// Returns the outcome of an entry that has a row.
ForeignOutcome outcome_of(const ForeignRow& row, const ForeignContext& context,
                          const ForeignEntry& entry);

/// Returns the outcome of an entry without a row: Fate::unknown, or refused unless the context
/// allows it; wrong if its value or its location is.
ForeignOutcome outcome_of_unknown(std::span<const ForeignRow> rows, const ForeignContext& context,
                                  const ForeignEntry& entry);

/// Returns the rows as a Markdown table.
std::string foreign_rows_markdown(std::span<const ForeignRow> rows);

} // namespace troupe
