#include "families.hpp"

#include "troupe/core/config/text.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

bool has(const std::vector<ModelKey>& keys, std::string_view path) {
  return std::ranges::any_of(keys, [&](const ModelKey& one) { return one.key.path == path; });
}

} // namespace

std::vector<Family> families() {
  return {resnet(), cifar_resnet(), mlp(), linear()};
}

std::optional<Family> family_of(std::string_view model) {
  for (auto& family : families())
    if (std::ranges::count(family.names, model) > 0)
      return std::move(family);
  return std::nullopt;
}

std::vector<ModelKey> model_keys(ModelConfig& model) {
  std::vector<ModelKey> all;
  for (const auto& family : families())
    for (auto& one : family.keys(model))
      if (!has(all, one.key.path))
        all.push_back(std::move(one));
  return all;
}

std::vector<std::string> models_with(const std::string& path) {
  ModelConfig any;
  return names_where([&](const Family& family) { return has(family.keys(any), path); });
}

std::vector<ModelKey> unused_keys(ModelConfig& model, const Family& family) {
  ModelConfig untouched;
  const auto taken = family.keys(model), defaults = model_keys(untouched);
  std::vector<ModelKey> unused;
  for (auto& one : model_keys(model)) {
    const auto usual =
        std::ranges::find(defaults, one.key.path, [](const ModelKey& key) { return key.key.path; });
    if (!has(taken, one.key.path) && config_value_text(one.key) != config_value_text(usual->key))
      unused.push_back(std::move(one));
  }
  return unused;
}

} // namespace troupe::nn
