/// What becomes of the keys of other programs: a row a key. The import, its report and the tables
/// of docs/from-accelerate.md all come from the rows.
#pragma once

#include "importers/document.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class Fate : std::uint8_t {
  mapped,   ///< keys of troupe say the same
  built_in, ///< troupe has no choice there
  left_out, ///< not supported; what is trained stays the same
  refused,  ///< not supported, and it changes what is trained
  idle,     ///< changes nothing: it is off, or what it belongs to is
  open,     ///< "auto": the script there fills it in
  wrong,    ///< no value that the key may have
  unknown,  ///< no row has the key; left out, with a warning
};

/// Which of several settings of one key counts: the firmest. Two firm ones have to agree.
enum class Firmness : std::uint8_t {
  default_value, ///< what the other program takes where its file says nothing
  weak,          ///< what another key may overrule there too
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
  std::string allowed = {}, suggestion = {}; ///< of a wrong value
};

/// How many processes train, on how many machines.
struct ForeignWorld {
  std::int64_t machines = 1, processes = 1;
  bool known = false;

  std::int64_t per_machine() const { return processes / machines; }
};

/// What a row may look at besides its own entry.
struct ForeignContext {
  const ForeignDocument& document;
  ForeignWorld world;
  std::optional<std::int64_t> steps_per_epoch = {};
  std::string precision = {}; ///< what accelerate's mixed_precision says of this file
  const ForeignDocument* deepspeed = nullptr; ///< that deepspeed_config_file names
  std::string_view auto_below = {};           ///< where "auto" is a value
  bool allows_unknown = false;                ///< programs add keys of their own to the file

  const ForeignEntry* find(std::string_view key) const { return document.find(key); }
};

struct ForeignRow {
  std::string_view key;  ///< "flops_profiler.*": all that is below
  Fate default_value;    ///< of a value that asks for something
  std::string_view says; ///< what is mapped to which keys; else why not, and what to do instead
  /// "KEY" that is on, or "KEY=VALUE": where it does not hold the row's key is idle. Where KEY is
  /// not in the file it does not hold.
  std::string_view when = {};
  std::string_view neutral = {}; ///< a value that asks for nothing, besides false, 0, none and such
  ForeignOutcome (*map)(const ForeignContext&, const ForeignEntry&) = nullptr;
  bool needed = false; ///< null is no value
};
using ForeignRows = std::vector<ForeignRow>;

ForeignRows accelerate_rows();
ForeignRows deepspeed_rows();
ForeignRows hugging_face_rows();

/// The row of a key; null: it has none.
const ForeignRow* find_row(std::span<const ForeignRow> rows, std::string_view key);

/// What becomes of an entry that has a row.
ForeignOutcome outcome_of(const ForeignRow& row, const ForeignContext& context,
                          const ForeignEntry& entry);

/// A table for a page.
std::string foreign_rows_markdown(std::span<const ForeignRow> rows);

} // namespace troupe
