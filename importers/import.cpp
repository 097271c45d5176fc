#include "importers/import.hpp"

#include "core/escape.hpp"
#include "importers/detail/importer.hpp"
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::int64_t most_workers = 1024 * 1024; // devices.count x cluster.nodes

bool is_count(std::optional<std::int64_t> value) {
  return value && *value >= 1 && *value <= most_workers;
}

/// accelerate writes the keys of fsdp_config with and without the prefix fsdp_.
void use_one_name(ForeignDocument& document) {
  const std::string section = "fsdp_config.";
  for (auto& entry : document.entries)
    if (entry.key.starts_with(section) && !entry.key.starts_with(section + "fsdp_"))
      entry.key.insert(section.size(), "fsdp_");
}

void use_new_names(ForeignDocument& document) {
  for (auto& entry : document.entries)
    if (entry.key.starts_with("bfloat16."))
      entry.key.replace(0, 8, "bf16");
}

ForeignWorld accelerate_world(const ForeignDocument& document, const ImportOptions& options) {
  const ForeignContext context{.document = document, .world = {}};
  ForeignWorld world;
  if (const auto machines = whole_at(context, "num_machines"); is_count(machines))
    world.machines = *machines;
  auto processes = whole_at(context, "num_processes");
  if (!processes || *processes == -1)
    processes = options.processes;
  world.known = is_count(processes);
  world.processes = world.known ? *processes : world.machines;
  if (world.processes % world.machines != 0) // reported as a problem of num_processes
    world.processes = world.machines;
  return world;
}

/// Sets a model and a data set, which neither program's file names. The placeholders train on any
/// machine.
void set_what_is_trained(Importer& importer) {
  const auto& given = importer.options().overrides;
  const bool known = std::ranges::any_of(
      given, [](const auto& text) { return text.starts_with("data.dataset="); });
  importer.set_default("model.name", "resnet20", "not in the file: set yours");
  if (known)
    return;
  importer.set_default("data.dataset", "synthetic", "not in the file: set yours");
  importer.hint("the file contains no model and no data set: resnet20 on synthetic images is a "
                "placeholder; use --set model.name=... --set data.dataset=... --set data.root=...");
}

/// Makes the batch large enough for a sample per worker and micro-batch, and the synthetic data set
/// large enough for a batch.
void set_sizes(Importer& importer, const ForeignWorld& world) {
  constexpr std::int64_t default_batch = 128, default_samples = 1024;
  const auto slices = world.processes * importer.number("train.accumulate").value_or(1);
  if (!importer.has("data.batch_size") && slices > default_batch)
    importer.set_default("data.batch_size", fmt::format("{}", slices),
                         "one sample per worker and micro-batch");
  if (const auto batch = importer.number("data.batch_size"); batch > default_samples)
    importer.set_default("data.limit", fmt::format("{}", *batch), "one batch");
}

void hint_at_nodes(Importer& importer, const ForeignContext& context) {
  if (context.world.machines == 1)
    return;
  if (!importer.has("cluster.listen") && !importer.has("cluster.join"))
    importer.hint("main_process_ip is not given: set cluster.listen of the leader to an address "
                  "that the other nodes can reach, and their cluster.join to the same address");
  else if (importer.has("cluster.join"))
    importer.hint("set this node's address, which the others must be able to reach: --set "
                  "cluster.listen=HOST:PORT");
}

void hint_at_processes(Importer& importer, const ForeignWorld& world, const std::string& who) {
  if (!world.known)
    importer.hint(fmt::format("the file does not contain the number of processes, which is set by "
                              "{}: devices.count is {}; --processes N sets another number",
                              who, world.per_machine()));
}

/// Resolves `name` in the folder of the file that names it, else in the working directory.
std::filesystem::path beside(const std::filesystem::path& file, const std::filesystem::path& name) {
  std::error_code error;
  const auto path = file.parent_path() / name;
  return std::filesystem::exists(path, error) || !std::filesystem::exists(name, error) ? path
                                                                                       : name;
}

const ForeignEntry* deepspeed_file(const ForeignDocument& document) {
  const auto* type = document.find("distributed_type");
  const auto* file = document.find("deepspeed_config.deepspeed_config_file");
  const bool used = type && type->text == "DEEPSPEED" && file && file->kind == ForeignKind::text &&
                    !file->text.empty();
  return used ? file : nullptr;
}

std::string precision_of(const ForeignDocument& document) {
  const auto* entry = document.find("mixed_precision");
  const auto word = entry ? word_of(*entry) : std::string{};
  return word == "fp16" || word == "bf16" ? word : std::string{};
}

void apply_deepspeed(Importer& importer, const ForeignContext& context) {
  importer.apply(deepspeed_rows(), context);
  if (!context.find("zero_optimization.stage"))
    importer.set_default("parallel.strategy", "ddp", "DeepSpeed without ZeRO");
  if (!context.find("gradient_clipping"))
    importer.hint("gradient_clipping is not given: nothing is clipped, as in DeepSpeed before "
                  "2026; newer versions clip at 1: --set train.clip_grad=1");
}

} // namespace

std::string ImportLine::to_string() const {
  return escaped(fmt::format("{}:{}: {}: {}", source, line, key, says));
}

Imported import_accelerate(const std::filesystem::path& path, const ImportOptions& options,
                           const Catalogue& catalogue) {
  Importer importer{options, catalogue};
  auto document =
      read_foreign_file(path, path.extension() == ".json" ? read_foreign_json : read_foreign_yaml);
  if (!document) {
    importer.add(document.error());
    return std::move(importer).finish("accelerate", path);
  }
  use_one_name(*document);
  ForeignResult second = ForeignDocument{};
  const auto* named = deepspeed_file(*document);
  if (named)
    second = read_foreign_file(beside(path, named->text), read_foreign_hjson);
  if (!second)
    importer.add(second.error());
  ForeignContext context{.document = *document,
                         .world = accelerate_world(*document, options),
                         .deepspeed = named && second ? &*second : nullptr,
                         .auto_below = "deepspeed_config."};
  importer.require(*document, "distributed_type", "NO, MULTI_GPU, MULTI_CPU, FSDP, DEEPSPEED");
  importer.apply(accelerate_rows(), context);
  if (context.deepspeed) {
    use_new_names(*second);
    apply_deepspeed(importer, {.document = *second,
                               .world = context.world,
                               .steps_per_epoch = options.steps_per_epoch,
                               .precision = precision_of(*document)});
  }
  if (const auto* type = document->find("distributed_type"); type && type->text != "NO")
    hint_at_processes(importer, context.world, "accelerate's launcher");
  hint_at_nodes(importer, context);
  if (!importer.has("data.batch_size"))
    importer.hint(
        "with accelerate, the script sets batch size, optimizer, schedule and epochs: set "
        "data.batch_size (over all workers) and train");
  set_sizes(importer, context.world);
  set_what_is_trained(importer);
  return std::move(importer).finish("accelerate", path);
}

Imported import_deepspeed(const std::filesystem::path& path, const ImportOptions& options,
                          const Catalogue& catalogue) {
  Importer importer{options, catalogue};
  auto document = read_foreign_file(path, read_foreign_hjson);
  if (!document) {
    importer.add(document.error());
    return std::move(importer).finish("deepspeed", path);
  }
  use_new_names(*document);
  const ForeignContext context{.document = *document,
                               .world = options.processes
                                            ? ForeignWorld{1, *options.processes, true}
                                            : deepspeed_world(*document),
                               .steps_per_epoch = options.steps_per_epoch};
  apply_deepspeed(importer, context);
  hint_at_processes(importer, context.world, "DeepSpeed's launcher");
  importer.set_default("devices.count", fmt::format("{}", context.world.processes), "--processes");
  set_sizes(importer, context.world);
  set_what_is_trained(importer);
  return std::move(importer).finish("deepspeed", path);
}

} // namespace troupe
