/// Values of other programs' keys, outcomes, and functions of rows that translate a value by
/// itself.
#pragma once

#include "importers/rows.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
ForeignOutcome wrong(const ForeignEntry& entry, std::string allowed, std::string suggestion = {});
/// Returns the outcome of an entry that contradicts another key; `what` is a sentence.
ForeignOutcome contradicts(std::string what);

/// Returns the name in `known` that was probably meant. Empty if troupe does not support that name:
/// it supports only the first `supported` names, and suggesting another would not help.
std::string meant(std::string_view name, std::span<const std::string> known, std::size_t supported);

/// Maps true and false to values of `key`.
ForeignMap switch_to(std::string key, std::string on = "true", std::string off = "false");

/// Maps a whole number that is at least 1 to `key`; `allowed` describes such a number.
ForeignMap count_to(std::string key, std::string allowed = "a whole number, at least 1");

/// Maps a number within bounds to `key`; `allowed` describes the bounds.
ForeignMap number_to(std::string key, std::string allowed, double least,
                     double most = std::numeric_limits<double>::infinity());

/// Returns `on` for true; false has no effect.
ForeignOutcome if_on(const ForeignEntry& entry, ForeignOutcome on,
                     std::string allowed = "true or false");

/// Returns the outcome of a text that is none of `words`.
ForeignOutcome unknown_word(const ForeignEntry& entry, const std::vector<std::string>& words);

} // namespace troupe
