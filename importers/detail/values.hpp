/// Values of other programs' keys, and outcomes, for the functions of rows.
#pragma once

#include "importers/rows.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Text that reads as a number is one: accelerate and DeepSpeed take `"5e8"` for it too.
std::optional<double> number_of(const ForeignEntry& entry);
/// 5e8 is a whole number.
std::optional<std::int64_t> whole_of(const ForeignEntry& entry);
std::optional<bool> boolean_of(const ForeignEntry& entry);
/// In small letters; empty where it is no scalar.
std::string word_of(const ForeignEntry& entry);

bool is_auto(const ForeignEntry& entry);
/// false, 0, null, "none", "no", an empty text, list or mapping: asks for nothing.
bool is_neutral(const ForeignEntry& entry);
/// As a message shows it.
std::string value_text(const ForeignEntry& entry);

/// The numbers of keys that may be missing, "auto" or wrong: nothing then.
std::optional<std::int64_t> whole_at(const ForeignContext& context, std::string_view key);
std::optional<double> number_at(const ForeignContext& context, std::string_view key);
/// Whether a switch is there and on.
bool is_on(const ForeignContext& context, std::string_view key);

ForeignOutcome mapped(ForeignSettings settings, std::string says = {});
ForeignOutcome with_fate(Fate fate, std::string says);
ForeignOutcome wrong(const ForeignEntry& entry, std::string allowed, std::string suggestion = {});
/// A sentence of what contradicts another key.
ForeignOutcome contradicts(std::string what);

/// The name that was probably meant, of `known` ones. Empty if it is one that troupe does not have,
/// which are all but the first `supported`: suggesting those would help nobody.
std::string meant(std::string_view name, std::span<const std::string> known, std::size_t supported);

/// A number as YAML has it.
std::string number_text(double value);

} // namespace troupe
