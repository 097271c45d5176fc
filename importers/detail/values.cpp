#include "importers/detail/values.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace troupe {

namespace {

bool is_word(const ForeignEntry& entry, std::span<const std::string_view> words) {
  return std::ranges::find(words, word_of(entry)) != words.end();
}

constexpr std::array<std::string_view, 5> yes = {"true", "yes", "on", "1", "y"};
constexpr std::array<std::string_view, 5> no = {"false", "no", "off", "0", "n"};

} // namespace

std::optional<double> number_of(const ForeignEntry& entry) {
  if (entry.kind != ForeignKind::number && entry.kind != ForeignKind::text)
    return std::nullopt;
  std::string_view text{entry.text};
  if (text.starts_with('+'))
    text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_of(const ForeignEntry& entry) {
  constexpr double exact = 9e15; // doubles represent all whole numbers up to this
  const auto value = number_of(entry);
  if (!value || std::floor(*value) != *value || std::abs(*value) > exact)
    return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> boolean_of(const ForeignEntry& entry) {
  if (is_word(entry, yes))
    return true;
  return is_word(entry, no) ? std::optional{false} : std::nullopt;
}

std::string word_of(const ForeignEntry& entry) {
  auto text = entry.text;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_auto(const ForeignEntry& entry) {
  return entry.kind == ForeignKind::text && entry.text == "auto";
}

bool is_neutral(const ForeignEntry& entry) {
  constexpr std::array<std::string_view, 3> none = {"", "none", "null"};
  switch (entry.kind) {
  case ForeignKind::null:
  case ForeignKind::mapping:
    return true;
  case ForeignKind::list:
    return entry.items.empty();
  default:
    return is_word(entry, none) || is_word(entry, no) || number_of(entry) == 0.0;
  }
}

std::string value_text(const ForeignEntry& entry) {
  switch (entry.kind) {
  case ForeignKind::null:
    return "null";
  case ForeignKind::mapping:
    return "{}";
  case ForeignKind::list:
    return echoed(fmt::format("[{}]", fmt::join(entry.items, ", ")), 60);
  case ForeignKind::text:
    return fmt::format("\"{}\"", echoed(entry.text, 60));
  default:
    return echoed(entry.text, 60);
  }
}

std::optional<std::int64_t> whole_at(const ForeignContext& context, std::string_view key) {
  const auto* entry = context.find(key);
  return entry ? whole_of(*entry) : std::nullopt;
}

std::optional<double> number_at(const ForeignContext& context, std::string_view key) {
  const auto* entry = context.find(key);
  return entry ? number_of(*entry) : std::nullopt;
}

bool is_on(const ForeignContext& context, std::string_view key) {
  const auto* entry = context.find(key);
  if (!entry)
    return false;
  if (is_auto(*entry)) // "fp16.enabled" follows accelerate's mixed_precision
    return !context.precision.empty() && key.starts_with(context.precision + ".");
  return !is_neutral(*entry);
}

ForeignOutcome mapped(ForeignSettings settings, std::string says) {
  return {Fate::mapped, std::move(says), std::move(settings)};
}

ForeignOutcome wrong(const ForeignEntry& entry, std::string allowed, std::string suggestion) {
  return {Fate::wrong,
          value_text(entry) + " is not allowed",
          {},
          std::move(allowed),
          std::move(suggestion)};
}

ForeignOutcome contradicts(std::string what) {
  return {Fate::wrong, std::move(what)};
}

std::string meant(std::string_view name, std::span<const std::string> known,
                  std::size_t supported) {
  const auto near = suggest(name, known);
  const auto possible = known.first(supported);
  return std::ranges::find(possible, near) != possible.end() && near != name ? near : std::string{};
}

ForeignMap switch_to(std::string key, std::string on, std::string off) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = boolean_of(entry);
    return value ? mapped({{key, *value ? on : off}}) : wrong(entry, "true or false");
  };
}

ForeignMap count_to(std::string key, std::string allowed) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = whole_of(entry);
    return value && *value >= 1 ? mapped({{key, fmt::format("{}", *value)}})
                                : wrong(entry, allowed);
  };
}

ForeignMap number_to(std::string key, std::string allowed, double least, double most) {
  return [=](const ForeignContext&, const ForeignEntry& entry) {
    const auto value = number_of(entry);
    return value && *value >= least && *value <= most ? mapped({{key, fmt::format("{}", *value)}})
                                                      : wrong(entry, allowed);
  };
}

ForeignOutcome if_on(const ForeignEntry& entry, ForeignOutcome on, std::string allowed) {
  const auto value = boolean_of(entry);
  if (!value)
    return wrong(entry, std::move(allowed));
  return *value ? std::move(on) : ForeignOutcome{Fate::idle, "false enables nothing"};
}

ForeignOutcome unknown_word(const ForeignEntry& entry, const std::vector<std::string>& words) {
  return wrong(entry, fmt::format("{}", fmt::join(words, ", ")), suggest(entry.text, words));
}

} // namespace troupe
