#include "nn/config_check.hpp"

#include "core/config/config.hpp"
#include "core/config/data_sets.hpp"
#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/learning_rates.hpp"
#include "nn/models/families.hpp"
#include "nn/models/models.hpp"
#include "nn/modules.hpp"
#include "nn/passes/autocast.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace troupe::nn {

namespace {

void append(ConfigConflicts& all, ConfigConflicts more) {
  std::ranges::move(more, std::back_inserter(all));
}

/// Batch norm uses the statistics of a slice, so all slices must have the same size.
ConfigConflicts uneven_slices(const Config& config) {
  const auto batch = config.data.batch_size, micro = config.train.accumulate;
  if (const auto given = config.data.slices) {
    if (*given < 1 || *given > batch || batch % *given == 0)
      return {};
    return {
        {{"data.batch_size", "data.slices"},
         fmt::format("{} samples do not divide into {} slices of equal size, which the batch norm "
                     "of {} requires",
                     batch, *given, config.model.name),
         fmt::format("{} or {} samples", batch - batch % *given, batch - batch % *given + *given)}};
  }
  const auto workers = config.workers();
  // Division, because a product of the others could overflow. Core reports too few samples.
  if (micro > batch || workers > batch / micro)
    return {};
  const auto slices = workers * micro, rest = batch % slices;
  if (rest == 0)
    return {};
  return {{{"data.batch_size", "devices.count", "cluster.nodes", "train.accumulate"},
           fmt::format("{} samples do not divide into {} worker{} x {} micro-batch{} of equal "
                       "size, which the batch norm of {} requires",
                       batch, workers, workers == 1 ? "" : "s", micro, micro == 1 ? "" : "es",
                       config.model.name),
           fmt::format("{} or {}", batch - rest, batch - rest + slices)}};
}

ConfigConflicts nothing_to_synchronize(const ModelConfig& model) {
  if (!model.sync_batch_norm)
    return {};
  const auto names = names_where(model, [](const Family& family) { return family.batch_norm; });
  return {{{"model.sync_batch_norm", "model.name"},
           fmt::format("{} has no batch norm", model.name),
           fmt::format("false, or a model with batch norm: {}", fmt::join(names, ", "))}};
}

/// A model's size depends only on the config, so that every process with the config builds the same
/// model. Files are not read.
ConfigConflicts unknown_vocabulary(const Config& config) {
  if (traits_of_data(config.data).sample != SampleKind::tokens || config.model.vocabulary ||
      config.data.tokenizer.path == byte_tokenizer)
    return {};
  return {
      {{"model.vocabulary", "data.tokenizer"},
       "the config does not contain the vocabulary size of a tokenizer that is read from files",
       fmt::format(
           "at least the tokenizer's number of tokens, which troupe tokenize --tokenizer {} shows",
           config.data.tokenizer.path)}};
}

struct Parameters {
  std::int64_t elements = 0;
  std::int64_t units = 0; ///< units that have parameters
};

Parameters count(const Graph& forward) {
  Parameters counted;
  std::set<UnitId> units;
  for (const auto id : forward.with_role(Role::parameter)) {
    counted.elements += forward[id].shape.elements();
    units.insert(forward[id].unit);
  }
  counted.units = static_cast<std::int64_t>(units.size());
  return counted;
}

/// Returns conflicts if the config names, keeps alive, or makes fragments of, more units than have
/// parameters, or if it has more workers than parameters.
ConfigConflicts too_much_to_divide(const Config& config, const Graph& forward) {
  const auto& parallel = config.parallel;
  const auto there = count(forward);
  const auto named = static_cast<std::int64_t>(parallel.wrap.units.size());
  ConfigConflicts found;
  if (named > there.units)
    found.push_back(
        {{"parallel.wrap", "model.name"},
         fmt::format("{} names, but the model has {} units with parameters", named, there.units),
         fmt::format("at most {}", there.units)});
  if (parallel.has_replica_groups() && parallel.diloco.fragments > there.units)
    found.push_back({{"parallel.diloco.fragments", "model.name"},
                     fmt::format("{} fragments, but the model has {} units with parameters",
                                 parallel.diloco.fragments, there.units),
                     fmt::format("at most {}", there.units)});
  const auto shards = parallel.shards(config.workers());
  if (shards > there.elements)
    found.push_back({{"parallel.strategy", "devices.count", "cluster.nodes"},
                     fmt::format("{} workers have to share {} parameters: some would have none",
                                 shards, there.elements),
                     fmt::format("ddp, or at most {} workers", there.elements)});
  return found;
}

std::string names_help(const ModelConfig& model) {
  std::string help;
  for (const auto& family : families(model))
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", fmt::join(family.names, ", "),
                        family.help);
  return help;
}

std::vector<ConfigKey> config_keys_of_models(ModelConfig& model) {
  std::vector<ConfigKey> keys;
  for (auto& one : model_keys(model)) {
    one.key.help += fmt::format(". For {}", fmt::join(models_with(model, one.key.path), ", "));
    keys.push_back(std::move(one.key));
  }
  return keys;
}

/// Returns conflicts between the model, its keys and the data.
ConfigConflicts find_model_conflicts(const Config& config) {
  const auto family = family_of(config.model);
  if (!family)
    return {};
  auto found = find_conflicts(config.model, input_spec(config));
  append(found, unknown_vocabulary(config));
  append(found, family->batch_norm ? uneven_slices(config) : nothing_to_synchronize(config.model));
  return found;
}

/// Returns one sentence for each key that is set but has no effect on the model.
std::vector<std::string> unused_key_notes(const Config& config) {
  std::vector<std::string> notes;
  auto model = config.model; // keys point to mutable members
  if (const auto family = family_of(model))
    for (const auto& one : unused_keys(model, *family))
      notes.push_back(fmt::format("{} has no effect: {}", one.key.path,
                                  fmt::format(fmt::runtime(one.elsewhere), model.name)));
  return notes;
}

} // namespace

Catalogue model_catalogue(const CustomRows<Family>& own) {
  ModelConfig any;
  any.custom_families = own;
  return {.names = names_where(any, [](const Family&) { return true; }),
          .default_value = std::string{default_model},
          .help = names_help(any),
          .keys = config_keys_of_models,
          .conflicts = find_model_conflicts,
          .graph_conflicts = find_graph_conflicts,
          .notes = unused_key_notes,
          .custom_families = own};
}

Catalogue catalogue_of(const Config& config) {
  auto catalogue = model_catalogue(config.model.custom_families);
  catalogue.custom_sets = config.data.custom_sets;
  return catalogue;
}

ConfigConflicts find_graph_conflicts(const Config& config) {
  // Names do not depend on the batch, and evaluation accepts a single sample.
  const auto forward = build_model(config.model, {.input = input_spec(config), .training = false});
  if (!forward)
    return {};
  auto found = find_conflicts(config.model.autocast_off, *forward);
  append(found, unknown_units("train.recompute", config.train.recompute.names, forward->units));
  append(found, unknown_units("parallel.wrap", config.parallel.wrap.units, forward->units));
  append(found, find_rate_conflicts(config.train, *forward));
  append(found, too_much_to_divide(config, *forward));
  return found;
}

ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units) {
  ConfigConflicts found;
  const auto names = with_parents(units); // units ("layer1.0") and their prefixes ("layer1")
  for (const auto& name : used)
    if (std::ranges::count(names, name) == 0)
      found.push_back({{key, "model.name"},
                       fmt::format("the model has no unit \"{}\"", echoed(name)),
                       fmt::format("{}", fmt::join(names, ", ")),
                       suggest(name, names)});
  return found;
}

} // namespace troupe::nn
