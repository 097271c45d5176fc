// The table of all keys, except those that only some models take, which are defined with these
// models, and those of custom data sets. A new key is a member in config.hpp and a line here.
#include "core/config/catalogue.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/config/delimiters.hpp"
#include "core/config/detail/keys_cluster.hpp"
#include "core/config/detail/keys_parallel.hpp"
#include "core/config/detail/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

using Keys = std::vector<ConfigKey>;
using Format = ConfigFormat;

void add_run(Keys& keys, RunConfig& c) {
  keys.push_back(
      {"run.name",
       &c.name,
       {.format = Format::folder_name},
       "Name of the run; its files go to output/name/. Not set: the config file's name without its "
       "extension"});
  keys.push_back({"run.output", &c.output, a_path(), "Folder of all runs"});
  keys.push_back({"run.seed", &c.seed, {}, "Seeds initialization, shuffling and augmentation"});
  keys.push_back(
      {"run.deterministic",
       &c.deterministic,
       {},
       "Use only deterministic kernels: runs with equal threads_per_worker have the same bits"});
  keys.push_back({"run.tensorboard",
                  &c.tensorboard,
                  {},
                  "Also write losses, accuracies, speed and memory for TensorBoard, into "
                  "output/name/tensorboard/"});
}

void add_model(Keys& keys, ModelConfig& c, const Catalogue& catalogue) {
  keys.push_back({"model.name", &c.name, one_of(catalogue.names),
                  catalogue.help.empty() ? "Architecture" : "Architecture; " + catalogue.help});
  keys.push_back({"model.num_classes", &c.num_classes, count_to(1000000), "Size of the output"});
  keys.push_back(
      {"model.in_channels",
       &c.in_channels,
       {.min = 1, .max = 3},
       "Channels of an image: 1 grey (an image folder is converted to it), 3 colour (grey images "
       "are replicated)"});
  if (catalogue.keys)
    std::ranges::move(catalogue.keys(c), std::back_inserter(keys));
  keys.push_back({"model.loss", &c.loss, one_of({"cross_entropy", "mean_squared_error"}),
                  "Loss function to minimize"});
  keys.push_back({"model.autocast_off",
                  &c.autocast_off,
                  {},
                  "Modules, by name (layer1.0, fc), that amp computes in fp32; -NAME "
                  "(-layer1.0.conv1) switches amp on again for a module inside one of these"});
  keys.push_back(
      {"model.pretrained", &c.pretrained, a_path(),
       "A safetensors file with initial parameters and statistics: a checkpoint, or a file that "
       "PyTorch saved with torchvision's names; for language models also a Hugging Face folder. A "
       "head of another size or a different stem is initialized randomly"});
  keys.push_back({"model.sync_batch_norm",
                  &c.sync_batch_norm,
                  {},
                  "Compute batch norm over the micro-batches that all workers process at the same "
                  "time, like PyTorch's SyncBatchNorm; with accumulate: 1 these are the global "
                  "batch. Not supported for GPUs of several nodes"});
}

std::string custom_help(const DataConfig& c) {
  std::string help;
  for (const auto& row : c.custom_sets.rows())
    if (!row.help.empty())
      help += fmt::format("; {}: {}", row.traits.name, row.help);
  return help;
}

void add_text(Keys& keys, DataConfig& c) {
  keys.push_back({"data.tokenizer", &c.tokenizer, a_path(),
                  "text: bytes (one token per byte, and one for the end of a document), or a path: "
                  "Hugging Face's tokenizer.json, GPT-2's vocab.json (with merges.txt in the same "
                  "folder), a folder with either, or a .tiktoken file"});
  keys.push_back({"data.tokenizer_split", &c.tokenizer_split, one_of({"auto", "gpt2", "cl100k"}),
                  "text: how it is split into words if the tokenizer's files do not define it: "
                  ".tiktoken files, and vocab.json (auto: gpt2)"});
  keys.push_back({"data.text_key",
                  &c.text_key,
                  {},
                  "text: key of the document in the object of each line, for files that end in "
                  ".jsonl or .ndjson"});
  keys.push_back({"data.sequence_length", &c.sequence_length, count_to(1 << 24),
                  "text: tokens per sample; batch_size counts samples"});
  keys.push_back({"data.validation_part", &c.validation_part, fraction(),
                  "text: share of the samples, from the end, that is used for evaluation and not "
                  "for training"});
  keys.push_back({"data.test_root", &c.test_root, a_path(),
                  "text: a file or folder to evaluate on instead of validation_part"});
  keys.push_back({"data.tokens_cache", &c.tokens_cache, a_path(),
                  "text: folder of the token cache; not set: ROOT.tokens next to data.root. The "
                  "cache is rebuilt when the texts or the tokenizer change"});
}

void add_data(Keys& keys, DataConfig& c) {
  keys.push_back(
      {"data.dataset", &c.dataset, one_of(data_set_names(c)),
       "Data set; tools/fetch-data downloads cifar10, mnist and fashion-mnist, and the texts kjv "
       "and docs; csv: a table, in train.csv and test.csv; text: text files and folders of them" +
           custom_help(c)});
  keys.push_back({"data.root", &c.root, a_path(),
                  "Folder of the files, required unless synthetic; for text also a single file"});
  keys.push_back({"data.image_size",
                  &c.image_size,
                  {.min = 1, .max = 4096},
                  "Height and width of images after resizing or cropping"});
  keys.push_back({"data.batch_size", &c.batch_size, count_to(1000000),
                  "Samples per step, over all workers and micro-batches"});
  keys.push_back({"data.eval_batch_size", &c.eval_batch_size, count_to(1000000),
                  "Samples per evaluation batch and worker"});
  keys.push_back(
      {"data.augment", &c.augment, one_of({"crop", "resized_crop", "flip"}),
       "Random changes to training images. crop: shift by up to an eighth; resized_crop: crop and "
       "resize, like torchvision's RandomResizedCrop; flip: mirror"});
  keys.push_back({"data.eval_resize",
                  &c.eval_resize,
                  {.min = 1, .max = 8192},
                  "Length of the shorter side to which a test image is resized, with antialiasing, "
                  "before the centre crop; not set: with resized_crop 8/7 of image_size (256 for "
                  "224), else image_size, without antialiasing"});
  keys.push_back(
      {"data.mean",
       &c.mean,
       {.min = 0, .max = 1},
       "Mean that is subtracted from pixels / 255, one number per channel; requires data.std. Not "
       "set: default values of the data set, ImageNet's for image_folder"});
  keys.push_back({"data.std",
                  &c.deviation,
                  {.min = 0, .max = 1, .above_min = true},
                  "Standard deviation by which the difference is divided, one number per channel"});
  keys.push_back({"data.shuffle",
                  &c.shuffle,
                  {},
                  "Shuffle the training samples in each epoch; false: use the order of the files"});
  keys.push_back({"data.drop_last",
                  &c.drop_last,
                  {},
                  "Skip the incomplete last batch of an epoch; false: fill it up with the epoch's "
                  "first samples"});
  keys.push_back(
      {"data.prefetch", &c.prefetch, {.min = 1, .max = 1024}, "Prefetched batches per worker"});
  keys.push_back({"data.slices", &c.slices, count_to(1000000),
                  "Number of slices into which a global batch is divided. Results depend on the "
                  "slices and not on the number of workers that share them; not set: one for each "
                  "worker and micro-batch"});
  keys.push_back(
      {"data.dealing", &c.dealing, one_of({"even", "speed"}),
       "How slices are assigned to workers. even: the same number to each; speed: more to faster "
       "workers, so that all finish at the same time; measured after 8 steps and then every 64"});
  keys.push_back({"data.recorded_dealing", &c.recorded_dealing, a_path(),
                  "events.jsonl of another run, whose assignment of slices is repeated step by "
                  "step, so that the results have the same bits"});
  keys.push_back({"data.loader_threads",
                  &c.loader_threads,
                  {.min = 1, .max = 1024},
                  "Threads that decode and augment, per node"});
  keys.push_back({"data.residency", &c.residency, one_of({"auto", "device", "host"}),
                  "Memory that holds the pixels of a CUDA worker; auto: the device's if they fit"});
  keys.push_back(
      {"data.skip_unreadable",
       &c.skip_unreadable,
       {},
       "Skip unreadable files of an image folder instead of ending the run: training uses the next "
       "file, evaluation does not count the file. troupe data check finds such files in advance"});
  keys.push_back({"data.limit", &c.limit, at_least(1),
                  "Train on only N samples: for images spread evenly over the classes, for other "
                  "data the first N"});
  keys.push_back({"data.eval_limit", &c.eval_limit, at_least(1),
                  "Evaluate on only N test samples, evenly spaced over the test set"});
  keys.push_back({"data.synthetic_samples", &c.synthetic_samples, count_to(1000000000),
                  "Size of the synthetic data set"});
  keys.push_back({"data.features", &c.features, {}, "csv: names of the input columns"});
  keys.push_back({"data.targets",
                  &c.targets,
                  {},
                  "csv: names of the columns to predict: as many numbers as model.num_classes with "
                  "mean_squared_error, one class (a word, or 0 to num_classes - 1) "
                  "with cross_entropy"});
  keys.push_back({"data.standardize",
                  &c.standardize,
                  {},
                  "csv: from each feature, subtract the mean of the training rows, and divide by "
                  "their standard deviation"});
  keys.push_back({"data.delimiter", &c.delimiter, one_of(delimiter_names()),
                  "csv: character between the cells of a row"});
  add_text(keys, c);
  std::ranges::move(custom_data_keys(c), std::back_inserter(keys));
}

void add_optimizer(Keys& keys, OptimizerConfig& c) {
  keys.push_back({"train.optimizer.name", &c.name, one_of({"sgd", "adam", "adamw"}),
                  "Optimizer, as PyTorch defines it"});
  keys.push_back({"train.optimizer.lr", &c.lr, above(0), "Learning rate, before the schedule"});
  keys.push_back({"train.optimizer.momentum", &c.momentum, fraction(), "sgd"});
  keys.push_back({"train.optimizer.nesterov", &c.nesterov, {}, "sgd: use Nesterov momentum"});
  keys.push_back({"train.optimizer.weight_decay", &c.weight_decay, at_least(0),
                  "L2 for sgd and adam, decoupled for adamw"});
  keys.push_back(
      {"train.optimizer.decay", &c.decay, one_of({"all", "matrices"}),
       "Parameters to which weight_decay applies. matrices: only those with two or more "
       "dimensions, as is common for language models, whose norms and biases do not decay"});
  keys.push_back({"train.optimizer.beta1", &c.beta1, fraction(),
                  "adam, adamw: decay rate of the first moment"});
  keys.push_back({"train.optimizer.beta2", &c.beta2, fraction(),
                  "adam, adamw: decay rate of the second moment"});
  keys.push_back(
      {"train.optimizer.eps", &c.eps, above(0), "adam, adamw: added to the denominator"});
}

void add_train(Keys& keys, TrainConfig& c) {
  keys.push_back({"train.epochs", &c.epochs, count_to(1000000),
                  "Passes over the training data; null: until max_steps or max_tokens"});
  keys.push_back({"train.max_steps", &c.max_steps, at_least(1), "End after this many steps"});
  keys.push_back({"train.max_tokens", &c.max_tokens, count_to(1e15),
                  "End after this many tokens, in whole steps; the run ends at whichever of "
                  "epochs, max_steps and max_tokens comes first"});
  add_optimizer(keys, c.optimizer);
  auto& s = c.schedule;
  keys.push_back(
      {"train.schedule.name", &s.name, one_of({"constant", "step", "cosine", "linear", "wsd"}),
       "How the learning rate changes. step: at milestones; cosine, linear: until the end of the "
       "run; wsd (warm-up, stable, decay): only in the last part of the run"});
  keys.push_back({"train.schedule.warmup", &s.warmup, at_least(0),
                  "Length of the initial linear warm-up: a number of epochs, of steps or of "
                  "tokens, or a share of the run (1, 200 steps, 2e6 tokens, 2%)"});
  keys.push_back({"train.schedule.milestones", &s.milestones, above(0),
                  "step: points at which the rate is multiplied by gamma, counted from the start "
                  "of the run, in the units of warmup"});
  keys.push_back({"train.schedule.gamma", &s.gamma, above(0), "step"});
  keys.push_back({"train.schedule.decay", &s.decay, at_least(0),
                  "wsd: length of the decay at the end of the run, in the units of warmup"});
  keys.push_back({"train.schedule.min_lr", &s.min_lr, at_least(0),
                  "cosine, linear, wsd: final learning rate"});
  keys.push_back({"train.sample.every", &c.sample.every, {}, "How often sample text is generated"});
  keys.push_back({"train.sample.prompt",
                  &c.sample.prompt,
                  {},
                  "Prompt to continue; empty: the start of a document"});
  keys.push_back({"train.sample.tokens", &c.sample.tokens, count_to(1000),
                  "Maximum number of generated tokens"});
  keys.push_back({"train.accumulate", &c.accumulate, count_to(1000000),
                  "Micro-batches per worker and step; their gradients are averaged"});
  keys.push_back(
      {"train.clip_grad_norm", &c.clip_grad_norm, above(0), "Maximum global norm of the gradient"});
  keys.push_back(
      {"train.clip_grad_value", &c.clip_grad_value, above(0),
       "Maximum absolute value of each element of the gradient, clipped before the norm"});
  keys.push_back({"train.gradient_norm_every", &c.gradient_norm_every, at_least(0),
                  "Steps between measurements of the gradient's norm, for metrics; clip_grad_norm "
                  "measures it in every step. 0: never. In such a step the optimizer waits for all "
                  "gradients, as with clipping; results do not change"});
  keys.push_back(
      {"train.clip_before_unscale",
       &c.clip_before_unscale,
       {},
       "Clip gradients before the loss scale is removed: refused if that makes a difference",
       "it is refused if it makes a difference, and has no effect otherwise; leave it out"});
  keys.push_back({"train.label_smoothing", &c.label_smoothing, fraction(),
                  "cross_entropy: share of the target spread over all classes"});
  keys.push_back(
      {"train.freeze",
       &c.freeze,
       {},
       "Units and modules, by name (stem, layer1, layer2.0.conv1), whose parameters are not "
       "trained; statistics of batch norm still change, as with PyTorch's requires_grad"});
  keys.push_back(
      {"train.lr_scale", &c.lr_scale, at_least(0), // 0 is rejected with advice
       "Factors, above 0, for the learning rate of units and modules, by name ({fc: 10, layer1: "
       "0.1}); if several contain a parameter, the one with the fewest parameters applies"});
  keys.push_back(
      {"train.recompute",
       &c.recompute,
       {},
       "Activation checkpointing: activations that backward recomputes instead of keeping. block: "
       "those inside every unit (stem, residual block); a list: those inside the named units "
       "(layer1, layer2.0); fit: as few as possible, so that all activations of a worker's "
       "training step, as laid out by the memory plan, take at most SIZE"});
  keys.push_back({"train.evaluate_every", &c.evaluate_every, at_least(0),
                  "Epochs between evaluations on the test set; 0: never"});
}

void add_execution(Keys& keys, Config& c) {
  keys.push_back({"precision.mode", &c.precision.mode,
                  one_of({"fp32", "tf32", "fp16", "bf16", "amp_fp16", "amp_bf16"}),
                  "Type of the arithmetic; fp16 and bf16 also round the parameters"});
  auto& scale = c.precision.loss_scale;
  keys.push_back({"precision.loss_scale.enabled", &scale.enabled, {}, "amp_fp16: scale the loss"});
  keys.push_back({"precision.loss_scale.initial",
                  &scale.initial,
                  {.min = 0, .max = 1e30, .above_min = true},
                  "Initial scale"});
  keys.push_back(
      {"precision.loss_scale.growth_factor",
       &scale.growth_factor,
       {.min = 1, .max = 1e6, .above_min = true},
       "Multiplies the scale after growth_interval consecutive steps with finite gradients"});
  keys.push_back({"precision.loss_scale.backoff_factor",
                  &scale.backoff_factor,
                  {.min = 0, .max = 1, .above_min = true, .below_max = true},
                  "Multiplies the scale after a step whose gradient is not finite"});
  keys.push_back({"precision.loss_scale.growth_interval", &scale.growth_interval,
                  count_to(2000000000), "Steps"});
  add_parallel_keys(keys, c.parallel);
  keys.push_back({"devices.kind", &c.devices.kind, one_of({"auto", "cpu", "cuda"}),
                  "Devices of the workers; auto: the fastest available"});
  keys.push_back(
      {"devices.count", &c.devices.count, {.min = 1, .max = 1024}, "Workers on this node"});
  keys.push_back({"devices.threads_per_worker",
                  &c.devices.threads_per_worker,
                  {.min = 0, .max = 1024},
                  "Threads per worker; 0: the cores that this process may use (affinity, CPU "
                  "quota), divided by count. Results depend on it in the last bits"});
  keys.push_back({"devices.engine", &c.devices.engine, one_of({"fastest", "interpreter"}),
                  "Kernels; interpreter is the slow reference"});
  keys.push_back({"devices.fusion", &c.devices.fusion, one_of({"full", "basic"}),
                  "CUDA: full fuses batch norm with the convolutions before and after it"});
}

void add_service(Keys& keys, Config& c) {
  add_cluster_keys(keys, c.cluster);
  keys.push_back(
      {"checkpoint.every", &c.checkpoint.every, {}, "How often a checkpoint is written"});
  keys.push_back({"checkpoint.keep", &c.checkpoint.keep, at_least(1),
                  "Number of checkpoints to keep, the newest ones"});
  keys.push_back(
      {"checkpoint.resume", &c.checkpoint.resume, a_path(),
       "Checkpoint to resume from: auto (the run's newest valid one, if any), never, or a path"});
  keys.push_back(
      {"checkpoint.state", &c.checkpoint.state, one_of({"full", "sharded"}),
       "full: rank 0 writes all of it; sharded: all ranks write their shards at the same time, for "
       "states that do not fit on one rank; all hosts must then share run.output. Both can be "
       "resumed with any strategy, precision and number of workers"});
  keys.push_back(
      {"checkpoint.best", &c.checkpoint.best, one_of({"none", "accuracy", "loss"}),
       "Metric by which evaluations are compared. The best checkpoint is kept in addition to the "
       "newest ones, as checkpoints/best, and written even if none is due"});
  keys.push_back({"metrics.listen",
                  &c.metrics.listen,
                  {.format = Format::endpoint_or_off},
                  "Address of the Prometheus endpoint and of the run's page; port 0: any free "
                  "port. If the port is in use, a run in the foreground takes the next free one, "
                  "and a daemon refuses to start"});
  keys.push_back({"metrics.password_file", &c.metrics.password_file, a_path(),
                  "A file with one line, the password of the run's page (with any user name); only "
                  "its owner may have access. Not set: only this host can see the page, without a "
                  "password. Other hosts can see it only over TLS (cluster.tls)"});
  keys.push_back({"metrics.linger",
                  &c.metrics.linger,
                  {},
                  "Maximum time that a run scraped by Prometheus waits at its end for the last "
                  "scrape; must be longer than scrape_interval"});
  keys.push_back(
      {"metrics.reads",
       &c.metrics.reads,
       {},
       "Record in events.jsonl. async: with which version of the parameters each gradient of a "
       "step was computed; diloco: which pseudo-gradients each sum contains"});
  keys.push_back(
      {"metrics.push",
       &c.metrics.push,
       {.format = Format::web_address},
       "A Prometheus Pushgateway, for jobs that end before they are scraped: metrics are PUT to "
       "its /metrics/job/troupe/run/NAME/instance/HOST every 15 s and at the end"});
}

} // namespace

Config default_config(const Catalogue& catalogue) {
  Config config;
  config.model.name = catalogue.default_value;
  config.model.custom_families = catalogue.custom_families;
  config.data.custom_sets = catalogue.custom_sets;
  return config;
}

std::vector<ConfigKey> config_keys(Config& config, const Catalogue& catalogue) {
  Keys keys;
  add_run(keys, config.run);
  add_model(keys, config.model, catalogue);
  add_data(keys, config.data);
  add_train(keys, config.train);
  add_execution(keys, config);
  add_service(keys, config);
  return keys;
}

const std::vector<ConfigSection>& config_sections() {
  static const std::vector<ConfigSection> sections = {
      {"run", "The run and its files"},
      {"model", "The model and its loss"},
      {"data", "The data set, batches and slices"},
      {"train", "Length of the run, gradients and evaluation"},
      {"train.optimizer", "The optimizer"},
      {"train.schedule", "The learning rate schedule"},
      {"train.sample", "Sample text that a language model generates during training"},
      {"precision", "Number types"},
      {"precision.loss_scale", "Loss scaling, as in PyTorch's GradScaler"},
      {"parallel", "How the job is distributed over workers"},
      {"parallel.wrap", "Units that are gathered together"},
      {"parallel.mixed_precision", "Types of communicated data, as in FSDP's MixedPrecision"},
      {"parallel.outer",
       "diloco: replica groups, and the outer optimizer of their pseudo-gradients"},
      {"parallel.offload", "State that is kept in the host's memory; a single word sets the target",
       "target"},
      {"devices", "The workers of this node"},
      {"cluster", "The daemon, and the nodes it works with"},
      {"cluster.tls", "TLS: only peers with a certificate of the same authority can connect"},
      {"cluster.timeouts", "Timeouts of the node runtime: heartbeat < detection < form < quorum, "
                           "detection < collective < quorum, heartbeat < handshake"},
      {"checkpoint", "Saving and resuming"},
      {"metrics", "The Prometheus endpoint, and the run's page"},
  };
  return sections;
}

} // namespace troupe
