#include "validate.hpp"

#include "../printable.hpp"
#include "schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

namespace troupe {

namespace {

/// What a data set of fixed content has.
struct KnownData {
  std::string_view name;
  std::int64_t classes, channels;
};
constexpr std::array<KnownData, 3> known_data = {
    {{"cifar10", 10, 3}, {"mnist", 10, 1}, {"fashion_mnist", 10, 1}}};

bool has_imagenet_stem(std::string_view model) {
  constexpr std::array<std::string_view, 5> names = {"resnet18", "resnet34", "resnet50",
                                                     "resnet101", "resnet152"};
  return std::find(names.begin(), names.end(), model) != names.end();
}

bool has_batch_norm(std::string_view model) {
  return model != "mlp" && model != "linear";
}

/// As a job decides; a CUDA device that is asked for and not there is another conflict.
bool uses_cuda(const DevicesConfig& devices, const Capabilities& capabilities) {
  return devices.kind != "cpu" && devices.engine != "interpreter" && capabilities.cuda_build &&
         capabilities.cuda_devices > 0;
}

void append(ConfigConflicts& all, ConfigConflicts more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

} // namespace

ConfigConflicts validate(const ModelConfig& model, const DataConfig& data) {
  ConfigConflicts found;
  for (const auto& known : known_data) {
    if (known.name != data.dataset)
      continue;
    if (model.num_classes != known.classes)
      found.push_back(
          {{"model.num_classes", "data.dataset"},
           fmt::format("{} classes, but {} has {}", model.num_classes, known.name, known.classes),
           std::to_string(known.classes)});
    // Grey images are replicated for a model that takes colour, not the other way round.
    if (model.in_channels < known.channels)
      found.push_back({{"model.in_channels", "data.dataset"},
                       fmt::format("images of {} have {} channels", known.name, known.channels),
                       std::to_string(known.channels)});
  }
  if (model.in_channels == 2)
    found.push_back({{"model.in_channels"}, "no image has 2 channels", "1, 3"});
  if (model.stem == "imagenet" && !has_imagenet_stem(model.name))
    found.push_back({{"model.stem", "model.name"},
                     fmt::format("{} has no imagenet stem", model.name),
                     "imagenet for resnet18, resnet34, resnet50, resnet101, resnet152"});
  else if (model.stem == "imagenet" && data.image_size < 32)
    found.push_back({{"model.stem", "data.image_size"},
                     fmt::format("the imagenet stem shrinks images too much for image_size {}",
                                 data.image_size),
                     "imagenet for an image_size of at least 32"});
  if (model.name == "mlp" && model.hidden.empty())
    found.push_back({{"model.hidden", "model.name"},
                     "mlp needs a hidden layer",
                     "a list of widths; model.name: linear has none"});
  if (model.width && !has_batch_norm(model.name))
    found.push_back({{"model.width", "model.name"},
                     fmt::format("the layers of {} have widths of their own", model.name),
                     "a resnet; for mlp model.hidden"});
  if (model.sync_batch_norm && !has_batch_norm(model.name))
    found.push_back({{"model.sync_batch_norm", "model.name"},
                     fmt::format("{} has no batch norm", model.name),
                     "false, or a resnet"});
  return found;
}

/// Of a table; no other data set has any.
ConfigConflicts validate_columns(const DataConfig& data) {
  ConfigConflicts found;
  const bool table = data.dataset == "csv";
  for (const auto& [key, columns] :
       {std::pair{"data.features", &data.features}, {"data.targets", &data.targets}})
    if (table == columns->empty())
      found.push_back({{key, "data.dataset"},
                       table ? "dataset csv needs the names of columns"
                             : fmt::format("dataset {} has no columns", data.dataset),
                       table ? "a list of names" : "dataset csv"});
  std::map<std::string_view, int> times;
  for (const auto* columns : {&data.features, &data.targets})
    for (const auto& name : *columns)
      if (++times[name] == 2)
        found.push_back({{"data.features", "data.targets"},
                         fmt::format("column {} is there twice", echoed(name)),
                         "each once"});
  if (table && !data.augment.empty())
    found.push_back(
        {{"data.augment", "data.dataset"}, "rows of a table cannot be augmented", "[]"});
  return found;
}

ConfigConflicts validate(const DataConfig& data) {
  ConfigConflicts found;
  const bool synthetic = data.dataset == "synthetic";
  if (!synthetic && data.root.empty())
    found.push_back({{"data.root", "data.dataset"},
                     fmt::format("dataset {} needs the folder of its files", data.dataset),
                     "a folder; tools/fetch-data fills one"});
  std::ranges::move(validate_columns(data), std::back_inserter(found));
  const bool crops =
      std::find(data.augment.begin(), data.augment.end(), "crop") != data.augment.end();
  if (crops && data.image_size < 8)
    found.push_back({{"data.augment", "data.image_size"},
                     fmt::format("crop shifts by an eighth, which is nothing for image_size {}",
                                 data.image_size),
                     "crop for an image_size of at least 8"});
  std::map<std::string_view, int> times;
  for (const auto& name : data.augment)
    if (++times[name] == 2) // said once, however often it is there
      found.push_back({{"data.augment"}, fmt::format("{} is there twice", name), "each once"});
  if (data.drop_last && data.limit && *data.limit < data.batch_size)
    found.push_back(
        {{"data.limit", "data.batch_size", "data.drop_last"},
         fmt::format("{} samples make no batch of {}, and drop_last leaves the rest out",
                     *data.limit, data.batch_size),
         fmt::format("at least {}, or drop_last: false", data.batch_size)});
  else if (data.drop_last && synthetic && data.synthetic_samples < data.batch_size)
    found.push_back(
        {{"data.synthetic_samples", "data.batch_size", "data.drop_last"},
         fmt::format("{} samples make no batch of {}, and drop_last leaves the rest out",
                     data.synthetic_samples, data.batch_size),
         fmt::format("at least {}, or drop_last: false", data.batch_size)});
  return found;
}

ConfigConflicts validate(const OptimizerConfig& optimizer) {
  if (optimizer.nesterov && optimizer.name != "sgd")
    return {{{"train.optimizer.nesterov", "train.optimizer.name"},
             optimizer.name + " has no nesterov",
             "nesterov for sgd"}};
  if (optimizer.nesterov && optimizer.momentum == 0)
    return {{{"train.optimizer.nesterov", "train.optimizer.momentum"},
             "nesterov without momentum does nothing",
             "nesterov with a momentum above 0"}};
  return {};
}

ConfigConflicts validate(const ScheduleConfig& schedule, const TrainConfig& train) {
  ConfigConflicts found;
  const auto epochs = static_cast<double>(train.epochs);
  if (!train.max_steps && schedule.warmup >= epochs)
    found.push_back({{"train.schedule.warmup", "train.epochs"},
                     fmt::format("{} epochs of warm-up leave nothing of {} epochs", schedule.warmup,
                                 train.epochs),
                     fmt::format("below {}", train.epochs)});
  if (schedule.name == "step") {
    const auto& at = schedule.milestones;
    if (at.empty())
      found.push_back({{"train.schedule.milestones", "train.schedule.name"},
                       "schedule step needs milestones",
                       "a list of epochs"});
    else if (std::adjacent_find(at.begin(), at.end(), std::greater_equal<>{}) != at.end())
      found.push_back({{"train.schedule.milestones"}, "milestones must grow", "ascending epochs"});
    else if (at.back() >= epochs)
      found.push_back(
          {{"train.schedule.milestones", "train.epochs"},
           fmt::format("milestone {} is never reached in {} epochs", at.back(), train.epochs),
           fmt::format("below {}", train.epochs)});
  }
  if (schedule.name == "cosine" && schedule.min_lr > train.optimizer.lr)
    found.push_back(
        {{"train.schedule.min_lr", "train.optimizer.lr"},
         fmt::format("{} is above the learning rate {}", schedule.min_lr, train.optimizer.lr),
         fmt::format("at most {}", train.optimizer.lr)});
  return found;
}

ConfigConflicts validate(const TrainConfig& train, const ModelConfig& model) {
  if (train.label_smoothing > 0 && model.loss != "cross_entropy")
    return {{{"train.label_smoothing", "model.loss"},
             fmt::format("{} has no label smoothing", model.loss),
             "0, or loss: cross_entropy"}};
  return {};
}

ConfigConflicts validate(const TrainConfig& train, const PrecisionConfig& precision) {
  const bool scaled = precision.mode == "amp_fp16" && precision.loss_scale.enabled;
  if (train.clip_before_unscale && scaled && (train.clip_grad_norm || train.clip_grad_value))
    return {{{"train.clip_before_unscale", "precision.mode"},
             "the loss scale would be part of what is clipped, and every step would be clipped",
             "false: gradients are unscaled first"}};
  return {};
}

ConfigConflicts validate(const PrecisionConfig& precision, const DevicesConfig& devices,
                         const Capabilities& capabilities) {
  const bool on_host =
      devices.kind == "cpu" || !capabilities.cuda_build || capabilities.cuda_devices == 0;
  if (on_host && devices.kind != "cuda" && precision.mode == "tf32")
    return {{{"precision.mode", "devices.kind"},
             "tf32 is the arithmetic of CUDA devices",
             "fp32, fp16, bf16, amp_fp16, amp_bf16"}};
  return {};
}

ConfigConflicts validate(const DevicesConfig& devices, const Capabilities& capabilities) {
  if (devices.kind != "cuda")
    return {};
  if (!capabilities.cuda_build)
    return {{{"devices.kind"}, "this build has no CUDA backend", "auto, cpu"}};
  if (capabilities.cuda_devices == 0)
    return {{{"devices.kind"}, "no CUDA device on this machine", "auto, cpu"}};
  if (devices.engine == "interpreter")
    return {
        {{"devices.engine", "devices.kind"}, "the interpreter runs on the CPU alone", "fastest"}};
  return {};
}

namespace {

/// Whether a global batch falls into slices, one for each worker and micro-batch.
ConfigConflicts validate_slices(const Config& config) {
  const std::vector<std::string> keys = {"data.batch_size", "devices.count", "cluster.min_nodes",
                                         "train.accumulate"};
  const auto batch = config.data.batch_size, micro = config.train.accumulate;
  const auto workers = config.workers();
  // In this order the product below does not overflow.
  if (micro > batch || workers > batch / micro)
    return {{keys,
             fmt::format("{} samples are too few for {} workers x {} micro-batches", batch, workers,
                         micro),
             "at least devices.count x cluster.min_nodes x train.accumulate"}};
  const auto slices = workers * micro, rest = batch % slices;
  if (rest == 0 || !has_batch_norm(config.model.name))
    return {};
  return {{keys,
           fmt::format("{} samples do not divide into {} workers x {} micro-batches of one size, "
                       "as the batch norm of {} needs",
                       batch, workers, micro, config.model.name),
           fmt::format("{} or {}", batch - rest, batch - rest + slices)}};
}

/// "zero3, fsdp, hsdp"
std::string dividing_parameters() {
  return fmt::format("{}", fmt::join(strategy_names(Divided::parameters), ", "));
}

} // namespace

ConfigConflicts validate(const ParallelConfig& parallel, const Config& config) {
  ConfigConflicts found;
  const auto workers = config.workers();
  const auto& facts = facts_of(parallel.strategy);
  if (facts.alone && workers != 1)
    found.push_back(
        {{"parallel.strategy", "devices.count", "cluster.min_nodes"},
         fmt::format("strategy {} is for one worker, there are {}", facts.name, workers),
         "ddp, or devices.count: 1 and cluster.min_nodes: 1"});
  if (facts.group == ShardGroup::configured && workers % parallel.shard_group != 0)
    found.push_back(
        {{"parallel.shard_group", "devices.count", "cluster.min_nodes"},
         fmt::format("{} workers do not divide into groups of {}", workers, parallel.shard_group),
         fmt::format("a divisor of {}; fsdp makes one group", workers)});
  if ((parallel.wrap.policy == "explicit") == parallel.wrap.units.empty())
    found.push_back({{"parallel.wrap.units", "parallel.wrap.policy"},
                     parallel.wrap.units.empty()
                         ? "policy explicit needs the names of units"
                         : "units go with policy explicit, not with " + parallel.wrap.policy,
                     "names of units for policy explicit, none for the others"});
  if (parallel.mixed_precision.parameters != "fp32" && !parallel.divides_parameters())
    found.push_back({{"parallel.mixed_precision.parameters", "parallel.strategy"},
                     fmt::format("{} gathers no parameters", facts.name),
                     "fp32, or strategy " + dividing_parameters()});
  if (config.model.sync_batch_norm && config.devices.kind == "cuda" && config.cluster.max_nodes > 1)
    found.push_back({{"model.sync_batch_norm", "devices.kind", "cluster.max_nodes"},
                     "CUDA workers of several nodes cannot synchronize batch norm yet",
                     "false; devices.kind: cpu; one node"});
  append(found, validate_slices(config));
  return found;
}

ConfigConflicts validate(const OffloadConfig& offload, const Config& config,
                         const Capabilities& capabilities) {
  const auto& facts = facts_of(config.parallel.strategy);
  if (offload.target == "none") {
    if (offload.ratio != 1)
      return {{{"parallel.offload.ratio", "parallel.offload.target"},
               "a ratio of nothing: no state is offloaded",
               "a target beside it: optimizer, parameters"}};
    return {};
  }
  ConfigConflicts found;
  if (facts.root_only)
    found.push_back({{"parallel.offload.target", "parallel.strategy"},
                     fmt::format("{} is DataParallel as it was, whose worker 0 has the optimizer; "
                                 "it offloads nothing",
                                 facts.name),
                     "none, or another strategy"});
  else if (offload.target == "parameters" && !config.parallel.divides_parameters())
    found.push_back(
        {{"parallel.offload.target", "parallel.strategy"},
         fmt::format("{} reads its parameters where they are, whole on each device", facts.name),
         "optimizer, or strategy " + dividing_parameters()});
  const auto& optimizer = config.train.optimizer;
  if (offload.target == "optimizer" && optimizer.name == "sgd" && optimizer.momentum == 0)
    found.push_back({{"parallel.offload.target", "train.optimizer.momentum"},
                     "sgd without momentum has no state to offload",
                     "none, or parameters with " + dividing_parameters()});
  if (uses_cuda(config.devices, capabilities) && !capabilities.cuda_pinned)
    found.push_back(
        {{"parallel.offload.target", "devices.kind"},
         "this CUDA device shares the host's memory: it has no pinned memory beside its "
         "own to offload to",
         "none, or devices.kind: cpu"});
  return found;
}

ConfigConflicts find_conflicts(const Config& c, const Capabilities& capabilities) {
  ConfigConflicts all = validate(c.model, c.data);
  append(all, validate(c.data));
  append(all, validate(c.train.optimizer));
  append(all, validate(c.train.schedule, c.train));
  append(all, validate(c.train, c.model));
  append(all, validate(c.train, c.precision));
  append(all, validate(c.precision, c.devices, capabilities));
  append(all, validate(c.devices, capabilities));
  append(all, validate(c.parallel, c));
  append(all, validate(c.parallel.offload, c, capabilities));
  append(all, validate(c.cluster, c.metrics));
  return all;
}

std::vector<ConfigProblem> validate(const Config& config, const Capabilities& capabilities) {
  std::vector<ConfigProblem> problems;
  auto copy = config; // keys point to members that can be written
  for (const auto& key : config_keys(copy))
    for (auto& breach : check_rule(key))
      problems.push_back({.key = key.path,
                          .what = std::move(breach.what),
                          .allowed = allowed_values(key),
                          .nearest = std::move(breach.nearest)});
  if (!problems.empty()) // conflicts may divide by what a rule refuses
    return problems;
  for (auto& conflict : find_conflicts(config, capabilities))
    problems.push_back({.key = conflict.keys.front(),
                        .what = std::move(conflict.what),
                        .allowed = std::move(conflict.allowed),
                        .nearest = std::move(conflict.nearest)});
  return problems;
}

} // namespace troupe
