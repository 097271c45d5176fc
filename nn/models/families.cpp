#include "nn/models/families.hpp"

#include "core/config/schema.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::nn {

namespace {

bool has(const std::vector<ModelKey>& keys, std::string_view path) {
  return std::ranges::any_of(keys, [&](const ModelKey& one) { return one.key.path == path; });
}

std::vector<ModelKey> keys_of(const Family& family, ModelConfig& model) {
  return family.keys ? family.keys(model) : std::vector<ModelKey>{};
}

} // namespace

std::vector<Family> families(const ModelConfig& model) {
  std::vector<Family> all = {resnet(), cifar_resnet(), mlp(), linear(), gpt2(), llama()};
  std::ranges::copy(model.custom_families.rows(), std::back_inserter(all));
  return all;
}

std::optional<Family> family_of(const ModelConfig& model) {
  for (auto& family : families(model))
    if (std::ranges::count(family.names, model.name) > 0)
      return std::move(family);
  return std::nullopt;
}

ModelConfig untouched(const ModelConfig& model) {
  ModelConfig fresh;
  fresh.custom_families = model.custom_families;
  return fresh;
}

std::vector<ModelKey> model_keys(ModelConfig& model) {
  std::vector<ModelKey> all;
  for (const auto& family : families(model))
    for (auto& one : keys_of(family, model))
      if (!has(all, one.key.path))
        all.push_back(std::move(one));
  return all;
}

std::vector<std::string> models_with(const ModelConfig& model, const std::string& path) {
  auto any = untouched(model);
  return names_where(model, [&](const Family& family) { return has(keys_of(family, any), path); });
}

std::map<std::string, std::string> custom_settings(ModelConfig model) {
  std::map<std::string, std::string> settings;
  const auto family = family_of(model);
  if (!family)
    return settings;
  for (const auto& one : keys_of(*family, model))
    if (model.own.contains(one.key.path.substr(one.key.path.find('.') + 1)))
      settings.emplace(one.key.path, config_value_text(one.key));
  return settings;
}

std::vector<ModelKey> unused_keys(ModelConfig& model, const Family& family) {
  auto fresh = untouched(model);
  const auto taken = keys_of(family, model), defaults = model_keys(fresh);
  std::vector<ModelKey> unused;
  for (auto& one : model_keys(model)) {
    const auto default_value =
        std::ranges::find(defaults, one.key.path, [](const ModelKey& key) { return key.key.path; });
    if (!has(taken, one.key.path) &&
        config_value_text(one.key) != config_value_text(default_value->key))
      unused.push_back(std::move(one));
  }
  return unused;
}

std::optional<HuggingFaceForm> hugging_face_form(const ModelConfig& model, const InputSpec& input) {
  const auto family = family_of(model);
  if (!family || !family->hugging_face)
    return std::nullopt;
  return family->hugging_face(model, input);
}

std::vector<std::string> hugging_face_models(const ModelConfig& model) {
  return names_where(model, [](const Family& family) { return family.hugging_face != nullptr; });
}

} // namespace troupe::nn
