/// Values of other programs' keys, and outcomes, for the functions of rows.
#pragma once

#include "importers/rows.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Text that reads as a number counts as one: accelerate and DeepSpeed accept `"5e8"` too.
std::optional<double> number_of(const ForeignEntry& entry);
/// 5e8 is a whole number.
std::optional<std::int64_t> whole_of(const ForeignEntry& entry);
std::optional<bool> boolean_of(const ForeignEntry& entry);
/// Returns the text in lower case; empty if it is not a scalar.
std::string word_of(const ForeignEntry& entry);

bool is_auto(const ForeignEntry& entry);
/// Whether the value has no effect: false, 0, null, "none", "no", an empty text, list or mapping.
bool is_neutral(const ForeignEntry& entry);
/// Formats the value for messages.
std::string value_text(const ForeignEntry& entry);

/// Return nullopt if the key is missing, "auto" or wrong.
std::optional<std::int64_t> whole_at(const ForeignContext& context, std::string_view key);
std::optional<double> number_at(const ForeignContext& context, std::string_view key);
/// Whether a switch is set and on.
bool is_on(const ForeignContext& context, std::string_view key);

ForeignOutcome mapped(ForeignSettings settings, std::string says = {});
ForeignOutcome with_fate(Fate fate, std::string says);
ForeignOutcome wrong(const ForeignEntry& entry, std::string allowed, std::string suggestion = {});
/// Returns the outcome of an entry that contradicts another key; `what` is a sentence.
ForeignOutcome contradicts(std::string what);

/// Returns the name in `known` that was probably meant. Empty if troupe does not support that name:
/// it supports only the first `supported` names, and suggesting another would not help.
std::string meant(std::string_view name, std::span<const std::string> known, std::size_t supported);

/// Formats a number for YAML.
std::string number_text(double value);

} // namespace troupe
