#include "app/extensions.hpp"

#include "core/config/data_sets.hpp"
#include "core/fail.hpp"
#include "nn/config_check.hpp"

#include <map>
#include <set>

namespace troupe::app {

namespace {

Status check(const nn::Family& family) {
  if (family.names.empty())
    return fail(Errc::invalid_input, "a custom model family has no name");
  if (!family.add_features)
    return fail(Errc::invalid_input, "the custom model {} has no add_features",
                family.names.front());
  return {};
}

Status check(const CustomDataSet& row) {
  if (row.traits.name.empty())
    return fail(Errc::invalid_input, "a custom data set has no name");
  if (!row.open)
    return fail(Errc::invalid_input, "the custom data set {} has no open", row.traits.name);
  if (row.traits.sample == SampleKind::tensor && !row.sample)
    return fail(Errc::invalid_input,
                "the samples of the custom data set {} are tensors: it needs a function that "
                "returns their shape (sample)",
                row.traits.name);
  return {};
}

Status check_names(const char* what, const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second)
      return fail(Errc::invalid_input, "two {} have the name {}", what, name);
  return {};
}

/// Two extensions may share a key if it sets the same member.
Status check_keys(const Extensions& extensions, const Catalogue& catalogue) {
  auto config = default_config(catalogue);
  std::map<std::string, ConfigTarget> targets;
  for (const auto& key : config_keys(config, catalogue))
    if (!targets.emplace(key.path, key.target).second)
      return fail(Errc::invalid_input, "the key {} already exists: rename the custom key",
                  key.path);
  const auto check_one = [&](const ConfigKey& key) -> Status {
    if (const auto known = targets.find(key.path);
        known == targets.end() || known->second != key.target)
      return fail(Errc::invalid_input, "two keys have the name {}: rename the custom key",
                  key.path);
    return {};
  };
  for (const auto& family : extensions.families)
    if (family.keys)
      for (const auto& one : family.keys(config.model))
        TROUPE_TRY(check_one(one.key));
  for (const auto& row : extensions.data_sets)
    if (row.keys)
      for (const auto& key : row.keys(config.data))
        TROUPE_TRY(check_one(key));
  return {};
}

} // namespace

Result<Catalogue> make_catalogue(const Extensions& extensions) {
  for (const auto& family : extensions.families)
    TROUPE_TRY(check(family));
  for (const auto& row : extensions.data_sets)
    TROUPE_TRY(check(row));
  auto catalogue = nn::model_catalogue(CustomRows{extensions.families});
  catalogue.custom_sets = CustomRows{extensions.data_sets};
  TROUPE_TRY(check_names("models", catalogue.names));
  DataConfig data;
  data.custom_sets = catalogue.custom_sets;
  TROUPE_TRY(check_names("data sets", data_set_names(data)));
  TROUPE_TRY(check_keys(extensions, catalogue));
  return catalogue;
}

} // namespace troupe::app
