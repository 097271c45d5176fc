#include "core/config/yaml_document.hpp"
#include "importers/detail/document_builder.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace troupe {

namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const auto* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto* end = text.data() + text.size();
  return std::from_chars(begin, end, value).ptr == end;
}

/// Follows YAML 1.1, as PyYAML does: `no` is a bool.
ForeignKind kind_of(const YAML::Node& scalar) {
  constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 18> booleans = {
      "true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES",
      "no",   "No",   "NO",   "on",    "On",    "ON",    "off", "Off", "OFF"};
  const auto& text = scalar.Scalar();
  if (scalar.Tag() != "?") // in quotes
    return ForeignKind::text;
  if (std::ranges::count(nulls, text) > 0)
    return ForeignKind::null;
  if (std::ranges::count(booleans, text) > 0)
    return ForeignKind::boolean;
  return is_number(text) ? ForeignKind::number : ForeignKind::text;
}

bool walk(const YAML::Node& node, ForeignBuilder& builder);

bool walk_mapping(const YAML::Node& node, ForeignBuilder& builder) {
  if (!builder.open_mapping())
    return false;
  for (const auto& entry : node) {
    const auto mark = entry.first.Mark();
    if (!entry.first.IsScalar())
      return builder.fail(mark.line + 1, mark.column + 1, "a key must be a name");
    if (is_merge_key(entry.first))
      return builder.fail(mark.line + 1, mark.column + 1, no_merge_keys);
    if (!builder.name(entry.first.Scalar(), mark.line + 1, mark.column + 1) ||
        !walk(entry.second, builder))
      return false;
  }
  return builder.close_mapping();
}

bool walk_list(const YAML::Node& node, ForeignBuilder& builder) {
  if (!builder.open_list())
    return false;
  for (const auto& item : node)
    if (!walk(item, builder))
      return false;
  return builder.close_list();
}

/// An alias is walked at each use; the builder's limits apply to the result.
bool walk(const YAML::Node& node, ForeignBuilder& builder) {
  if (node.IsMap())
    return walk_mapping(node, builder);
  if (node.IsSequence())
    return walk_list(node, builder);
  if (node.IsScalar())
    return builder.scalar(kind_of(node), node.Scalar());
  return builder.scalar(ForeignKind::null, {});
}

} // namespace

ForeignResult read_foreign_yaml(std::string_view text, const std::string& source) {
  ForeignBuilder builder{source};
  const auto document = load_yaml_document(std::string{text});
  if (document)
    walk(*document, builder);
  else
    builder.fail(document.error().mark.line + 1, document.error().mark.column + 1,
                 document.error().what);
  return builder.finish();
}

} // namespace troupe
