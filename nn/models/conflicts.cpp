// Conflicts between a model's keys, for any family.
#include "core/config/schema.hpp"
#include "nn/models/families.hpp"
#include "nn/models/models.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::nn {

namespace {

std::string default_value(const ModelConfig& model, const std::string& path) {
  auto defaults = untouched(model);
  for (const auto& one : model_keys(defaults))
    if (one.key.path == path)
      return config_value_text(one.key);
  return {};
}

ConfigConflict not_taken(const ModelConfig& model, const ModelKey& one) {
  const auto& path = one.key.path;
  return {{path, "model.name"},
          fmt::format(fmt::runtime(one.elsewhere), model.name),
          fmt::format("{}, or a model that takes it: {}", default_value(model, path),
                      fmt::join(models_with(model, path), ", "))};
}

/// Returns whether each of the family's keys has a value that its rule allows.
bool has_good_values(const Family& family, ModelConfig model) {
  return !family.keys || std::ranges::all_of(family.keys(model), [](const ModelKey& one) {
    return check_rule(one.key).empty();
  });
}

/// Returns the conflict of a model that cannot read the samples; `others` can.
ConfigConflict wrong_samples(std::string what, const std::vector<std::string>& others) {
  return {
      {"model.name", "data.dataset"}, std::move(what), fmt::format("{}", fmt::join(others, ", "))};
}

/// Checks the family's conflicts only if it accepts the samples and all values are valid, because
/// it may divide by them.
ConfigConflicts of_samples(const Family& family, const ModelConfig& model, const InputSpec& input) {
  if (family.takes_tokens() != (input.vocabulary > 0))
    return {
        wrong_samples(fmt::format("{} {}", model.name,
                                  family.takes_tokens()
                                      ? "reads tokens, but the data has none"
                                      : "does not read tokens, but the data consists of tokens"),
                      names_where(model, [&](const Family& other) {
                        return other.takes_tokens() != family.takes_tokens();
                      }))};
  if (family.images_only && input.sample.rank() != 3)
    return {
        wrong_samples(fmt::format("{} takes images (H, W, C), but the samples have the shape {}",
                                  model.name, input.sample.to_string()),
                      names_where(model, [](const Family& other) {
                        return !other.images_only && !other.takes_tokens();
                      }))};
  return family.conflicts && has_good_values(family, model) ? family.conflicts(model, input)
                                                            : ConfigConflicts{};
}

} // namespace

ConfigConflicts find_conflicts(const ModelConfig& model, const InputSpec& input) {
  const auto family = family_of(model);
  if (!family)
    return {};
  auto found = of_samples(*family, model, input);
  auto copy = model; // keys point to mutable members
  for (const auto& one : unused_keys(copy, *family))
    if (one.refused_elsewhere)
      found.push_back(not_taken(model, one));
  if (input.target_kind == TargetKind::values && model.loss != LossKind::mean_squared_error)
    found.push_back({{"model.loss", "data.dataset"},
                     fmt::format("{} needs class labels, but the targets of the data are values",
                                 to_string(model.loss)),
                     "mean_squared_error"});
  return found;
}

} // namespace troupe::nn
