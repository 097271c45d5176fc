// The section optimizer.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe {

namespace of_deepspeed_optimizer {
namespace {

std::string type_of(const ForeignContext& context) {
  const auto* entry = context.find("optimizer.type");
  return entry ? word_of(*entry) : std::string{};
}

/// Adam with decoupled decay unless adam_w_mode is false, as in DeepSpeed.
std::string adam_name(const ForeignContext& context) {
  const auto* mode = context.find("optimizer.params.adam_w_mode");
  return type_of(context) == "adam" && mode && boolean_of(*mode) == false ? "adam" : "adamw";
}

/// Returns DeepSpeed's defaults for missing keys where troupe's differ. torch_adam is PyTorch's,
/// whose AdamW decays.
ForeignSettings default_adam(const ForeignContext& context) {
  const auto name = adam_name(context);
  ForeignSettings settings = {{"train.optimizer.name", name},
                              {"train.optimizer.lr", "0.001", Firmness::default_value}};
  if (is_on(context, "optimizer.params.torch_adam") && name == "adamw")
    settings.push_back({"train.optimizer.weight_decay", "0.01", Firmness::default_value});
  return settings;
}

/// The optimizers that DeepSpeed accepts: its own and torch.optim's. Troupe has the first three.
ForeignOutcome refuse_type(const ForeignEntry& entry) {
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

ForeignOutcome map_type(const ForeignContext& context, const ForeignEntry& entry) {
  const auto type = word_of(entry);
  if (type == "adam" || type == "adamw")
    return mapped(default_adam(context));
  if (type == "sgd")
    return mapped({{"train.optimizer.name", "sgd"},
                   {"train.optimizer.lr", "0.001", Firmness::default_value},
                   {"train.optimizer.momentum", "0", Firmness::default_value}});
  return refuse_type(entry);
}

ForeignOutcome map_lr(const ForeignContext&, const ForeignEntry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate < 0)
    return wrong(entry, "a number, above 0");
  if (*rate == 0)
    return {Fate::idle, "the scheduler sets the learning rate"};
  return mapped({{"train.optimizer.lr", fmt::format("{}", *rate), Firmness::weak}});
}

std::optional<double> number_in(const std::string& text) {
  return number_of({.kind = ForeignKind::text, .text = text});
}

ForeignOutcome map_betas(const ForeignContext&, const ForeignEntry& entry) {
  const auto first = entry.items.size() == 2 ? number_in(entry.items[0]) : std::nullopt;
  const auto second = entry.items.size() == 2 ? number_in(entry.items[1]) : std::nullopt;
  if (!first || !second)
    return wrong(entry, "a list of two numbers");
  return mapped({{"train.optimizer.betas", fmt::format("[{}, {}]", *first, *second)}});
}

ForeignOutcome map_mode(const ForeignContext& context, const ForeignEntry& entry) {
  if (!boolean_of(entry))
    return wrong(entry, "true or false");
  return mapped({{"train.optimizer.name", adam_name(context)}});
}

ForeignOutcome map_bias_correction(const ForeignContext&, const ForeignEntry& entry) {
  if (boolean_of(entry) == true)
    return {Fate::built_in, "Adam's moments are corrected for their bias"};
  return {Fate::refused, "Adam's moments are always corrected for their bias"};
}

ForeignRows parameter_rows() {
  const std::string any = "a number, at least 0";
  return {
      {"lr", Fate::mapped, "`train.optimizer.lr`; a scheduler's warmup_max_lr takes precedence",
       map_lr},
      {"betas", Fate::mapped, "`train.optimizer.betas`", map_betas},
      {"eps", Fate::mapped, "`train.optimizer.eps`", number_to("train.optimizer.eps", any, 0)},
      {"weight_decay", Fate::mapped, "`train.optimizer.weight_decay`",
       number_to("train.optimizer.weight_decay", any, 0)},
      {"momentum", Fate::mapped, "`train.optimizer.momentum`; default: 0",
       number_to("train.optimizer.momentum", any, 0)},
      {"nesterov", Fate::mapped, "`train.optimizer.momentum.nesterov`",
       switch_to("train.optimizer.momentum.nesterov")},
      {"adam_w_mode", Fate::mapped, "`train.optimizer.name`: true is adamw, false adam", map_mode},
  };
}

ForeignRows mapped_rows() {
  return joined(
      {{{"optimizer.type", Fate::mapped,
         "`train.optimizer.name`: AdamW, and Adam unless adam_w_mode is false, are adamw; "
         "SGD is sgd; the others are not supported",
         map_type}},
       below("optimizer.params.", parameter_rows()),
       {{"gradient_clipping", Fate::mapped, "`train.clip_grad`", map_clipping}}});
}

/// Keys that choose how to compute the same update.
ForeignRows equal_rows() {
  constexpr std::string_view kernel = "one kernel updates a bucket, with state in fp32 unless "
                                      "`precision.mode` is fp16 or bf16";
  return joined(
      {below("optimizer.", built_in(kernel, {"params.torch_adam", "params.fused", "params.foreach",
                                             "params.capturable", "params.differentiable",
                                             "params.fp32_optimizer_states", "legacy_fusion",
                                             "params.set_grad_none"})),
       built_in(kernel, {"zero_allow_untested_optimizer"}),
       built_in("offloaded state is updated on the host", {"zero_force_ds_cpu_optimizer"})});
}

/// Keys that compute a different update.
ForeignRows other_rows() {
  return below(
      "optimizer.params.",
      joined({{{"bias_correction", Fate::built_in,
                "Adam's moments are corrected for their bias; false is not supported",
                map_bias_correction},
               {"max_grad_norm", Fate::refused,
                "DeepSpeed refuses it too: gradient_clipping at the top of the file"}},
              refused("troupe's SGD, Adam and AdamW do not have it",
                      {"amsgrad", "maximize", "dampening", "decoupled_weight_decay"}),
              refused("it belongs to an optimizer that troupe does not have; the nearest is AdamW",
                      {"freeze_step", "cuda_aware", "comm_backend_name", "var_freeze_step",
                       "var_update_scaler", "local_step_scaler", "local_step_clipper", "max_coeff",
                       "min_coeff", "coeff_beta", "factor_max", "factor_min", "factor_threshold",
                       "muon_lr", "adam_lr", "ns_method"})}));
}

} // namespace
} // namespace of_deepspeed_optimizer

ForeignRows deepspeed_optimizer_rows() {
  using namespace of_deepspeed_optimizer;
  return joined({mapped_rows(), equal_rows(), other_rows()});
}

} // namespace troupe
