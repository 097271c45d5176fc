#include "core/config/detail/reader.hpp"

#include "core/config/detail/value.hpp"
#include "core/config/yaml_document.hpp"
#include "core/escape.hpp"
#include "core/suggestion.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <span>
#include <tuple>

namespace troupe {

namespace {

std::string join_path(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('.') + 1); // without a dot: all
}

std::string parent(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? std::string{} : path.substr(0, dot);
}

/// Whether every name of the mapping is a field of the form.
bool has_fields_of(const ConfigForm& form, const YAML::Node& mapping) {
  for (const auto& entry : mapping)
    if (!entry.first.IsScalar() || !find_key(form.fields, entry.first.Scalar()))
      return false;
  return form.is_mapping();
}

/// Whether a plain value of the key, instead of a mapping, sets this field of the mapping.
bool is_plain_value(const ConfigKey& key, const ConfigKey& field) {
  const auto sets = [&](const ConfigForm& form) {
    return !form.is_mapping() && std::ranges::count(form.fields, field.target, &ConfigKey::target);
  };
  const auto* const forms = std::get_if<FormsTarget>(&key.target);
  return forms && std::ranges::any_of(forms->forms, sets);
}

/// Whether the path names a section, such as "train.optimizer".
bool is_config_section(std::string_view path) {
  return path.empty() || std::ranges::count(config_sections(), path, &ConfigSection::path) > 0;
}

} // namespace

ConfigReader::Place ConfigReader::place(const YAML::Mark& mark) const {
  if (in_override_ || mark.is_null())
    return {source_, 0, 0};
  return {source_, mark.line + 1, mark.column + 1};
}

void ConfigReader::report(const Place& at, const std::string& key, std::string what,
                          std::string allowed, std::string near) {
  problems_.push_back(
      {at.source, at.line, at.column, key, std::move(what), std::move(allowed), std::move(near)});
  if (!key.empty())
    broken_.insert(key);
}

bool ConfigReader::is_broken(std::string path) const {
  for (; !path.empty(); path = parent(path))
    if (broken_.contains(path))
      return true;
  return unreadable_;
}

void ConfigReader::add(ConfigConflicts conflicts) {
  for (auto& conflict : conflicts) {
    const auto& keys = conflict.keys;
    if (std::ranges::any_of(keys, [&](const auto& key) { return is_broken(key); }))
      continue;
    const auto given =
        std::ranges::find_if(keys, [&](const auto& key) { return given_.contains(key); });
    const auto at = given == keys.end() ? Place{source_} : given_.at(*given);
    auto& placed = problems_.emplace_back(to_problem(std::move(conflict)));
    std::tie(placed.source, placed.line, placed.column) = std::tie(at.source, at.line, at.column);
  }
}

std::optional<std::string> ConfigReader::given_at(const std::string& key) const {
  const auto found = given_.find(key);
  if (found == given_.end())
    return std::nullopt;
  const auto& [source, line, column] = found->second;
  return line > 0 ? fmt::format("{}:{}:{}", source, line, column) : source;
}

std::vector<ConfigProblem> ConfigReader::take_problems() {
  const auto rank = [this](const ConfigProblem& p) {
    const int whole_file_last = p.line == 0 ? 1 : 0;
    return std::tuple{p.source == source_ ? 0 : 1, p.source == source_ ? whole_file_last : 0,
                      p.line, p.column};
  };
  std::stable_sort(problems_.begin(), problems_.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return std::move(problems_);
}

void ConfigReader::read_document(std::string_view text, const std::string& source) {
  source_ = source;
  for (auto& [key, given] : whole_)
    given = {}; // what a launcher gives may be replaced under an old name, too
  const auto document = load_yaml_document(std::string{text});
  if (document) {
    read_section("", *document);
    return;
  }
  unreadable_ = true;
  report(place(document.error().mark), "", document.error().what);
}

void ConfigReader::read_override(const std::string& assignment) {
  const auto source = "--set " + echoed(assignment);
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    report({source, 0, 0}, "", "not an assignment", "KEY=VALUE, such as train.epochs=3");
  else
    read_given(assignment.substr(0, equals), assignment.substr(equals + 1), source);
}

void ConfigReader::read_given(const std::string& key, const std::string& value,
                              const std::string& source) {
  const auto file = std::exchange(source_, source);
  in_override_ = true;
  if (const auto node = load_yaml_document(value); !node)
    report({source_, 0, 0}, key, node.error().what);
  else
    read_entry(key, *node, {source_, 0, 0});
  in_override_ = false;
  source_ = file;
}

void ConfigReader::read_section(const std::string& path, const YAML::Node& node) {
  if (node.IsNull()) // all of its keys are commented out
    return;
  if (!node.IsMap()) {
    unreadable_ = unreadable_ || path.empty();
    report(place(node.Mark()), path, describe_node(node) + " has the wrong type",
           fmt::format("a mapping with {}", fmt::join(children(path), ", ")));
    return;
  }
  std::map<std::string, std::vector<Place>> places;
  for (const auto& entry : node) {
    const auto at = place(entry.first.Mark());
    if (!entry.first.IsScalar()) {
      report(at, path, "a key must be a name", fmt::format("{}", fmt::join(children(path), ", ")));
      continue;
    }
    if (is_merge_key(entry.first)) {
      report(at, path, no_merge_keys);
      continue;
    }
    auto& seen = places[entry.first.Scalar()];
    seen.push_back(at);
    if (seen.size() == 1)
      read_entry(join_path(path, entry.first.Scalar()), entry.second, at);
  }
  for (const auto& [name, seen] : places)
    if (seen.size() > 1)
      report_repeated(join_path(path, name), seen);
}

void ConfigReader::report_repeated(const std::string& key, const std::vector<Place>& places) {
  const auto times = places.size();
  const auto how_often = times == 2 ? "given twice" : fmt::format("given {} times", times);
  report(places[1], key,
         in_override_ ? how_often : fmt::format("{}, first in line {}", how_often, places[0].line));
}

void ConfigReader::read_entry(const std::string& path, const YAML::Node& node, const Place& name) {
  const auto* const key = in_old_section_ ? nullptr : find_key(keys_, path);
  if (key && !is_old_section(path, node)) {
    if (!old_.find(path)) // else a field with the name of an old key
      note_given(path, name);
    if (node.IsMap() && std::holds_alternative<FormsTarget>(key->target))
      read_mapping(*key, node);
    else
      read_value(*key, node, name);
  } else if (is_config_section(path)) {
    read_section(path, node);
  } else if (key || (old_.has_section(path) && (node.IsMap() || node.IsNull()))) {
    in_old_section_ = true;
    read_section(path, node);
    in_old_section_ = false;
  } else if (const auto* const old = old_.find(path)) {
    read_old(*old, node, name);
  } else {
    report_unknown(path, name);
  }
}

bool ConfigReader::is_old_section(const std::string& path, const YAML::Node& node) const {
  if (node.IsNull()) // all of its keys are commented out
    return old_.has_section(path);
  if (!node.IsMap() || !old_.has_section(path))
    return false;
  for (const auto& entry : node) {
    const auto name = join_path(path, entry.first.Scalar());
    if (old_.find(name) && !find_key(keys_, name))
      return true;
  }
  return false;
}

void ConfigReader::read_mapping(const ConfigKey& key, const YAML::Node& node) {
  const auto& forms = std::get<FormsTarget>(key.target).forms;
  const auto form = std::ranges::find_if(
      forms, [&](const ConfigForm& each) { return has_fields_of(each, node); });
  if (form == forms.end() || node.size() == 0)
    return report(place(node.Mark()), key.path,
                  node.size() == 0 ? "the mapping is empty"
                                   : "the mapping has names that are not allowed here",
                  allowed_values(key));
  form->choose();
  read_section(key.path, node);
  given_[key.path] = place(node.Mark());
}

void ConfigReader::read_old(const OldKey& old, const YAML::Node& node, const Place& name) {
  note_given(old.key.path, name);
  read_value(old.key, node, name);
  for (const auto& now : old.replaced) {
    given_[now] = given_[old.key.path];
    if (broken_.contains(old.key.path))
      broken_.insert(now);
  }
  if (old.changed && !broken_.contains(old.key.path))
    old.changed();
}

void ConfigReader::note_given(const std::string& key, const Place& place) {
  auto& given = whole_[key];
  (in_override_ ? given.in_override : given.in_document) = place;
}

void ConfigReader::refuse_both(const OldKey& old, const std::string& now) {
  const auto before = whole_.find(old.key.path), after = whole_.find(now);
  if (before == whole_.end() || after == whole_.end())
    return;
  for (const auto where : {&Given::in_document, &Given::in_override})
    if (before->second.*where && after->second.*where)
      report(*(before->second.*where), old.key.path,
             fmt::format("given together with {}, which replaces it", now), "one of them");
}

void ConfigReader::finish() {
  for (const auto& old : old_.all())
    for (const auto& now : old.replaced)
      refuse_both(old, now);
  old_.apply();
  add(old_.conflicts());
}

std::vector<std::string> ConfigReader::warnings() const {
  std::vector<std::string> lines;
  for (const auto& old : old_.all())
    if (whole_.contains(old.key.path))
      lines.push_back(warning_of(old));
  return lines;
}

std::vector<std::string> ConfigReader::paths_set_with(const ConfigKey& key) const {
  std::vector<std::string> paths = {key.path};
  if (const auto* const whole = find_key(keys_, parent(key.path)))
    paths.push_back(whole->path);
  for (const auto& field : keys_)
    if (parent(field.path) == key.path && is_plain_value(key, field))
      paths.push_back(field.path);
  return paths;
}

void ConfigReader::read_value(const ConfigKey& key, const YAML::Node& node, const Place& name) {
  const auto at = [&](const YAML::Node& value) {
    // A missing value (`key:`) has no location.
    const auto own = place(value.Mark());
    return value.IsNull() || own.line == 0 ? name : own;
  };
  const auto paths = paths_set_with(key);
  for (const auto& path : paths)
    given_[path] = at(node);
  key.prepare();
  constexpr std::size_t most = 10; // items of a list that are reported
  const auto problems = assign_value(node, key);
  for (const auto& problem : std::span{problems}.first(std::min(problems.size(), most))) {
    const bool of_item = problem.item >= 0 && node.IsSequence();
    const auto index = static_cast<std::size_t>(std::max(problem.item, 0));
    report(of_item ? at(node[index]) : at(node),
           of_item ? fmt::format("{}[{}]", key.path, index) : key.path, problem.what,
           allowed_values(key), problem.suggestion);
    broken_.insert(paths.begin(), paths.end());
  }
  if (problems.size() > most)
    report(at(node), key.path, fmt::format("{} more items are wrong", problems.size() - most));
}

void ConfigReader::report_unknown(const std::string& path, const Place& name) {
  // The section may be the wrong part of an override's path: report the first unknown part.
  const auto section = parent(path);
  if (!is_config_section(section) && children(section).empty()) {
    if (find_key(keys_, section))
      report(name, path, fmt::format("unknown key: {} is a value, not a section", section));
    else
      report_unknown(section, name);
    return;
  }
  const auto known = children(section);
  auto near = suggest(last_part(path), known);
  if (near.empty()) { // right name, wrong section?
    const auto same = std::ranges::find(keys_, last_part(path), &ConfigKey::name);
    if (same != keys_.end())
      near = same->path;
  }
  report(name, path, "unknown key", fmt::format("{}", fmt::join(known, ", ")), std::move(near));
}

std::vector<std::string> ConfigReader::children(const std::string& section) const {
  std::vector<std::string> names;
  const auto add_child = [&](const std::string& path) {
    if (parent(path) == section)
      names.push_back(last_part(path));
  };
  for (const auto& key : keys_)
    if (!key.hidden)
      add_child(key.path);
  for (const auto& known : config_sections())
    add_child(std::string{known.path});
  return names;
}

} // namespace troupe
