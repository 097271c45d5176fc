#include "core/config/detail/keys.hpp"

namespace troupe {

namespace {

FormsTarget sample_forms(SampleConfig& c) {
  return word_or_mapping(
      "never", c,
      {bound_key("every", c.every, "how often"),
       bound_key("prompt", c.prompt,
                 "text to continue; empty, the default: the start of a document"),
       bound_key("tokens", c.tokens, count_to(1000), "most generated tokens; default 100")});
}

FormsTarget recompute_forms(RecomputeConfig& c) {
  using Kind = RecomputeConfig::Kind;
  const auto names_units = [](const RecomputeConfig& recompute) {
    return recompute.kind == Kind::names;
  };
  return {
      &c,
      {word_form("none", c), word_form("block", c, {.kind = Kind::block}),
       fields_form(c, {.kind = Kind::names}, {bound_key("", c.names, not_empty())}, names_units),
       fields_form(c, {.kind = Kind::fit}, {bound_key("fit", c.fit_bytes, size_at_least(1))})}};
}

void add_optimizer(KeyList& keys, OptimizerConfig& c) {
  keys.add("train.optimizer.name", c.name, "Optimizer, as PyTorch defines it");
  keys.add("train.optimizer.lr", c.lr, above(0), "Learning rate, before the schedule");
  keys.add("train.optimizer.momentum", c.momentum, fraction(), "sgd");
  keys.add_field("value", "nesterov", c, &OptimizerConfig::nesterov,
                 "use Nesterov momentum; default false");
  keys.add("train.optimizer.weight_decay", c.weight_decay, at_least(0),
           "L2 for sgd and adam, decoupled for adamw");
  keys.add_field("rate", "parameters", c, &OptimizerConfig::decay,
                 "those that decay: all, the default, or matrices, only those with two or more "
                 "dimensions, as is common for language models, whose norms and biases do not");
  keys.add("train.optimizer.betas", c.betas, fraction(),
           "adam, adamw: decay rates of the first and the second moment");
  keys.add("train.optimizer.eps", c.eps, above(0), "adam, adamw: added to the denominator");
}

} // namespace

void add_train_keys(KeyList& keys, TrainConfig& c) {
  keys.add("train.epochs", c.epochs, count_to(1000000),
           "Passes over the training data; null: until max_steps or max_tokens");
  keys.add("train.max_steps", c.max_steps, at_least(1), "End after this many steps");
  keys.add("train.max_tokens", c.max_tokens, count_to(1e15),
           "End after this many tokens, in whole steps; the run ends at whichever of epochs, "
           "max_steps and max_tokens comes first");
  add_optimizer(keys, c.optimizer);
  auto& s = c.schedule;
  keys.add("train.schedule.name", s.name,
           "How the learning rate changes. step: at milestones; cosine, linear: until the end of "
           "the run; wsd (warm-up, stable, decay): only in the last part of the run");
  keys.add("train.schedule.warmup", s.warmup, at_least(0),
           "Length of the initial linear warm-up: a number of epochs, of steps or of tokens, or a "
           "share of the run (1, 200 steps, 2e6 tokens, 2%)");
  keys.add("train.schedule.milestones", s.milestones, above(0),
           "step: points at which the rate is multiplied by gamma, counted from the start of the "
           "run, in the units of warmup");
  keys.add("train.schedule.gamma", s.gamma, above(0), "step");
  keys.add("train.schedule.decay", s.decay, at_least(0),
           "wsd: length of the decay at the end of the run, in the units of warmup");
  keys.add("train.schedule.min_lr", s.min_lr, at_least(0),
           "cosine, linear, wsd: final learning rate");
  keys.add("train.sample", sample_forms(c.sample),
           "Sample text that a language model generates during training");
  keys.add("train.accumulate", c.accumulate, count_to(1000000),
           "Micro-batches per worker and step; their gradients are averaged");
  keys.add("train.clip_grad", c.clip_grad_norm, above(0), "Maximum global norm of the gradient");
  keys.add_field("norm", "value", c, &TrainConfig::clip_grad_value,
                 "maximum absolute value of each element, clipped before the norm", above(0));
  keys.add("train.gradient_norm_every", c.gradient_norm_every, at_least(0),
           "Steps between measurements of the gradient's norm, for metrics; clip_grad "
           "measures it in every step. 0: never. In such a step the optimizer waits for all "
           "gradients, as with clipping; results do not change");
  keys.add("train.label_smoothing", c.label_smoothing, fraction(),
           "cross_entropy: share of the target spread over all classes");
  keys.add("train.freeze", c.freeze,
           "Units and modules, by name (stem, layer1, layer2.0.conv1), whose parameters are not "
           "trained; statistics of batch norm still change, as with PyTorch's requires_grad");
  keys.add(
      "train.lr_scale", c.lr_scale, at_least(0), // 0 is rejected with advice
      "Factors, above 0, for the learning rate of units and modules, by name ({fc: 10, layer1: "
      "0.1}); if several contain a parameter, the one with the fewest parameters applies");
  keys.add("train.recompute", recompute_forms(c.recompute),
           "Activation checkpointing: activations that backward recomputes instead of keeping. "
           "block: those inside every unit (stem, residual block); a list: those inside the named "
           "units (layer1, layer2.0); fit: as few as possible, so that all activations of a "
           "worker's training step, as laid out by the memory plan, take at most SIZE");
  keys.add("train.evaluate_every", c.evaluate_every, at_least(0),
           "Epochs between evaluations on the test set; 0: never");
}

} // namespace troupe
