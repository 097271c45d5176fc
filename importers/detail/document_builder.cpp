#include "importers/detail/document_builder.hpp"

#include "core/escape.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

constexpr std::size_t deepest = 32, most_values = 10000;

/// Quotes a name that has a dot, so that it is not mistaken for a path.
std::string path_part(std::string_view name) {
  const auto text = echoed(name);
  return name.find('.') == name.npos ? text : fmt::format("\"{}\"", text);
}

} // namespace

bool ForeignBuilder::fail(int line, int column, std::string what) {
  problems_.push_back(
      {.source = document_.source, .line = line, .column = column, .what = std::move(what)});
  return false;
}

bool ForeignBuilder::count() {
  return ++values_ <= most_values ||
         fail(line_, column_, fmt::format("more than {} values: not a config file", most_values));
}

bool ForeignBuilder::name(std::string_view name, int line, int column) {
  if (lists_ > 0)
    return count();
  line_ = line, column_ = column;
  auto& level = levels_.back();
  const auto part = path_part(name);
  path_ = level.path.empty() ? part : level.path + "." + part;
  const auto [first, is_new] = level.names.try_emplace(std::string{name}, line);
  if (is_new)
    return count();
  problems_.push_back({document_.source, line, column, path_,
                       fmt::format("given twice, first in line {}", first->second)});
  return false;
}

bool ForeignBuilder::add(ForeignKind kind, std::string text) {
  if (!count())
    return false;
  document_.entries.push_back({path_, line_, column_, kind, std::move(text), {}});
  return true;
}

bool ForeignBuilder::scalar(ForeignKind kind, std::string text) {
  if (lists_ == 0)
    return levels_.empty() ? fail(line_, column_, "not a mapping of keys to values")
                           : add(kind, std::move(text));
  if (lists_ == 1)
    document_.entries.back().items.push_back(std::move(text));
  return count();
}

bool ForeignBuilder::open_mapping() {
  if (++depth_ > deepest)
    return fail(line_, column_, fmt::format("nested deeper than {} levels", deepest));
  if (lists_ > 0) { // opaque: its keys are part of the list's value
    if (lists_++ == 1)
      document_.entries.back().items.emplace_back("...");
    return count();
  }
  levels_.push_back({levels_.empty() ? std::string{} : path_, {}});
  return true;
}

bool ForeignBuilder::close_mapping() {
  --depth_;
  if (lists_ > 0) {
    --lists_;
    return true;
  }
  const auto level = std::move(levels_.back());
  levels_.pop_back();
  path_ = level.path;
  return !level.names.empty() || levels_.empty() || add(ForeignKind::mapping, {});
}

bool ForeignBuilder::open_list() {
  if (++depth_ > deepest)
    return fail(line_, column_, fmt::format("nested deeper than {} levels", deepest));
  if (levels_.empty())
    return fail(line_, column_, "a list, not a mapping of keys to values");
  if (lists_++ == 0)
    return add(ForeignKind::list, {});
  if (lists_ == 2)
    document_.entries.back().items.emplace_back("...");
  return count();
}

bool ForeignBuilder::close_list() {
  --depth_;
  --lists_;
  return true;
}

ForeignResult ForeignBuilder::finish() {
  if (!problems_.empty())
    return tl::unexpected(std::move(problems_));
  return std::move(document_);
}

} // namespace troupe
