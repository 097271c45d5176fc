// The section optimizer.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe {

namespace of_deepspeed_optimizer {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

std::string type_of(const Context& context) {
  const auto* entry = context.find("optimizer.type");
  return entry ? word_of(*entry) : std::string{};
}

/// Adam with decoupled decay unless adam_w_mode is false, as in DeepSpeed.
std::string adam_name(const Context& context) {
  const auto* mode = context.find("optimizer.params.adam_w_mode");
  return type_of(context) == "adam" && mode && boolean_of(*mode) == false ? "adam" : "adamw";
}

/// Returns DeepSpeed's defaults for missing keys where troupe's differ. torch_adam is PyTorch's,
/// whose AdamW decays.
ForeignSettings default_adam(const Context& context) {
  const auto name = adam_name(context);
  ForeignSettings settings = {{"train.optimizer.name", name},
                              {"train.optimizer.lr", "0.001", Firmness::default_value}};
  if (is_on(context, "optimizer.params.torch_adam") && name == "adamw")
    settings.push_back({"train.optimizer.weight_decay", "0.01", Firmness::default_value});
  return settings;
}

/// The optimizers that DeepSpeed accepts: its own and torch.optim's. Troupe has the first three.
Outcome refuse_type(const Entry& entry) {
  const std::vector<std::string> known = {
      "Adam", "AdamW",  "SGD",   "Lamb",    "OneBitAdam", "OneBitLamb", "ZeroOneAdam", "Lion",
      "Muon", "MuAdam", "MuSGD", "MuAdamW", "Adadelta",   "Adafactor",  "Adagrad",     "Adamax",
      "ASGD", "LBFGS",  "NAdam", "RAdam",   "RMSprop",    "Rprop",      "SparseAdam"};
  return {Fate::refused,
          fmt::format("{}: troupe has SGD, Adam and AdamW", value_text(entry)),
          {},
          {},
          meant(entry.text, known, 3)};
}

Outcome map_type(const Context& context, const Entry& entry) {
  const auto type = word_of(entry);
  if (type == "adam" || type == "adamw")
    return mapped(default_adam(context));
  if (type == "sgd")
    return mapped({{"train.optimizer.name", "sgd"},
                   {"train.optimizer.lr", "0.001", Firmness::default_value},
                   {"train.optimizer.momentum", "0", Firmness::default_value}});
  return refuse_type(entry);
}

Outcome map_lr(const Context&, const Entry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate < 0)
    return wrong(entry, "a number, above 0");
  if (*rate == 0)
    return with_fate(Fate::idle, "the scheduler sets the learning rate");
  return mapped({{"train.optimizer.lr", number_text(*rate), Firmness::weak}});
}

template <char const* key>
Outcome map_number(const Context&, const Entry& entry) {
  const auto value = number_of(entry);
  if (!value || *value < 0)
    return wrong(entry, "a number, at least 0");
  return mapped({{key, number_text(*value)}});
}

constexpr char decay[] = "train.optimizer.weight_decay", eps[] = "train.optimizer.eps",
               momentum[] = "train.optimizer.momentum";

std::optional<double> number_in(const std::string& text) {
  return number_of({.kind = ForeignKind::text, .text = text});
}

Outcome map_betas(const Context&, const Entry& entry) {
  const auto first = entry.items.size() == 2 ? number_in(entry.items[0]) : std::nullopt;
  const auto second = entry.items.size() == 2 ? number_in(entry.items[1]) : std::nullopt;
  if (!first || !second)
    return wrong(entry, "a list of two numbers");
  return mapped({{"train.optimizer.betas",
                  fmt::format("[{}, {}]", number_text(*first), number_text(*second))}});
}

Outcome map_nesterov(const Context&, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  return mapped({{"train.optimizer.nesterov", *on ? "true" : "false"}});
}

Outcome map_mode(const Context& context, const Entry& entry) {
  if (!boolean_of(entry))
    return wrong(entry, "true or false");
  return mapped({{"train.optimizer.name", adam_name(context)}});
}

Outcome map_bias_correction(const Context&, const Entry& entry) {
  if (boolean_of(entry) == true)
    return with_fate(Fate::built_in, "Adam's moments are corrected for their bias");
  return with_fate(Fate::refused, "Adam's moments are always corrected for their bias");
}

ForeignRows mapped_rows() {
  return {
      {.key = "optimizer.type",
       .default_value = Fate::mapped,
       .says =
           "`train.optimizer.name`: AdamW, and Adam unless adam_w_mode is false, are adamw; SGD "
           "is sgd; the others are not supported",
       .map = map_type},
      {.key = "optimizer.params.lr",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.lr`; a scheduler's warmup_max_lr takes precedence",
       .map = map_lr},
      {.key = "optimizer.params.betas",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.betas`",
       .map = map_betas},
      {.key = "optimizer.params.eps",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.eps`",
       .map = map_number<eps>},
      {.key = "optimizer.params.weight_decay",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.weight_decay`",
       .map = map_number<decay>},
      {.key = "optimizer.params.momentum",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.momentum`; default: 0",
       .map = map_number<momentum>},
      {.key = "optimizer.params.nesterov",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.nesterov`",
       .map = map_nesterov},
      {.key = "optimizer.params.adam_w_mode",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.name`: true is adamw, false adam",
       .map = map_mode},
      {.key = "gradient_clipping",
       .default_value = Fate::mapped,
       .says = "`train.clip_grad_norm`",
       .map = map_clipping},
  };
}

/// Keys that choose how to compute the same update.
ForeignRows same_rows() {
  ForeignRows rows;
  for (const auto* key :
       {"optimizer.params.torch_adam", "optimizer.params.fused", "optimizer.params.foreach",
        "optimizer.params.capturable", "optimizer.params.differentiable",
        "optimizer.params.fp32_optimizer_states", "optimizer.legacy_fusion",
        "optimizer.params.set_grad_none", "zero_allow_untested_optimizer"})
    rows.push_back({.key = key,
                    .default_value = Fate::built_in,
                    .says = "one kernel updates a bucket, with state in fp32 unless "
                            "`precision.mode` is fp16 or bf16"});
  rows.push_back({.key = "zero_force_ds_cpu_optimizer",
                  .default_value = Fate::built_in,
                  .says = "offloaded state is updated on the host"});
  return rows;
}

/// Keys that compute a different update.
ForeignRows other_rows() {
  ForeignRows rows = {
      {.key = "optimizer.params.bias_correction",
       .default_value = Fate::built_in,
       .says = "Adam's moments are corrected for their bias; false is not supported",
       .map = map_bias_correction},
      {.key = "optimizer.params.max_grad_norm",
       .default_value = Fate::refused,
       .says = "DeepSpeed refuses it too: gradient_clipping at the top of the file"}};
  for (const auto* key : {"optimizer.params.amsgrad", "optimizer.params.maximize",
                          "optimizer.params.dampening", "optimizer.params.decoupled_weight_decay"})
    rows.push_back({.key = key,
                    .default_value = Fate::refused,
                    .says = "troupe's SGD, Adam and AdamW do not have it"});
  for (const auto* key :
       {"optimizer.params.freeze_step", "optimizer.params.cuda_aware",
        "optimizer.params.comm_backend_name", "optimizer.params.var_freeze_step",
        "optimizer.params.var_update_scaler", "optimizer.params.local_step_scaler",
        "optimizer.params.local_step_clipper", "optimizer.params.max_coeff",
        "optimizer.params.min_coeff", "optimizer.params.coeff_beta", "optimizer.params.factor_max",
        "optimizer.params.factor_min", "optimizer.params.factor_threshold",
        "optimizer.params.muon_lr", "optimizer.params.adam_lr", "optimizer.params.ns_method"})
    rows.push_back(
        {.key = key,
         .default_value = Fate::refused,
         .says = "it belongs to an optimizer that troupe does not have; the nearest is AdamW"});
  return rows;
}

} // namespace
} // namespace of_deepspeed_optimizer

ForeignRows deepspeed_optimizer_rows() {
  using namespace of_deepspeed_optimizer;
  auto rows = mapped_rows();
  for (auto* part : {same_rows, other_rows})
    for (auto& row : part())
      rows.push_back(row);
  return rows;
}

} // namespace troupe
