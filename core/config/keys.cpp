// The table of all keys but those that only some models take, which stand beside these models, and
// those of own data sets. A new key is a member in config.hpp and a line here.
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
       "Only kernels that give the same bits every time, with equal threads_per_worker"});
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
                  "What is minimized"});
  keys.push_back(
      {"model.autocast_off",
       &c.autocast_off,
       {},
       "Modules, by name (layer1.0, fc), that amp computes in fp32; -NAME (-layer1.0.conv1) "
       "switches amp on again inside of one"});
  keys.push_back(
      {"model.pretrained", &c.pretrained, a_path(),
       "A safetensors file to take the first parameters and statistics from: a "
       "checkpoint, or what PyTorch saved under torchvision's names; of language models "
       "a folder of Hugging Face's, too. A head of another size, or another stem, begins "
       "anew"});
  keys.push_back({"model.sync_batch_norm",
                  &c.sync_batch_norm,
                  {},
                  "Batch norm over all workers' micro-batches of one round, as PyTorch's "
                  "SyncBatchNorm; with accumulate: 1 that is the global batch. Not over GPUs of "
                  "several nodes"});
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
                  "text: bytes, each its own token and one more for the end of a document; or a "
                  "path: Hugging Face's tokenizer.json, GPT-2's vocab.json (with merges.txt beside "
                  "it), a folder with either, a .tiktoken file"});
  keys.push_back({"data.tokenizer_split", &c.tokenizer_split, one_of({"auto", "gpt2", "cl100k"}),
                  "text: how words are cut out of it, where the tokenizer's files do not say that: "
                  "for .tiktoken files, and vocab.json (auto: gpt2)"});
  keys.push_back({"data.text_key",
                  &c.text_key,
                  {},
                  "text: in files that end in .jsonl or .ndjson each line is an object, and this "
                  "key its document"});
  keys.push_back({"data.sequence_length", &c.sequence_length, count_to(1 << 24),
                  "text: tokens of a sample; batch_size counts such samples"});
  keys.push_back({"data.validation_part", &c.validation_part, fraction(),
                  "text: share of all samples, the last ones, that is evaluated on and not trained "
                  "on"});
  keys.push_back({"data.test_root", &c.test_root, a_path(),
                  "text: a file or folder to evaluate on instead of that part"});
  keys.push_back({"data.tokens_cache", &c.tokens_cache, a_path(),
                  "text: folder where tokens are kept; not set: in ROOT.tokens beside data.root. "
                  "They are made again when the texts or the tokenizer change"});
}

void add_data(Keys& keys, DataConfig& c) {
  keys.push_back({"data.dataset", &c.dataset, one_of(data_set_names(c)),
                  "Kind of data; tools/fetch-data gets cifar10, mnist and fashion-mnist, and the "
                  "texts kjv and docs; csv is a "
                  "table: train.csv, test.csv; text is files and folders of it" +
                      custom_help(c)});
  keys.push_back({"data.root", &c.root, a_path(),
                  "Folder of the files; needed unless synthetic. Of text a file, too"});
  keys.push_back({"data.image_size",
                  &c.image_size,
                  {.min = 1, .max = 4096},
                  "Height and width that images are brought to"});
  keys.push_back({"data.batch_size", &c.batch_size, count_to(1000000),
                  "Samples of one step, over all workers and micro-batches together"});
  keys.push_back({"data.eval_batch_size", &c.eval_batch_size, count_to(1000000),
                  "Samples of one evaluation batch, per worker"});
  keys.push_back({"data.augment", &c.augment, one_of({"crop", "resized_crop", "flip"}),
                  "Random changes to training images: shift by up to an eighth; cut out a part and "
                  "resize it, as torchvision's RandomResizedCrop does; mirror"});
  keys.push_back({"data.eval_resize",
                  &c.eval_resize,
                  {.min = 1, .max = 8192},
                  "What the shorter side of a test image becomes before its centre is cut out, "
                  "antialiased; not set: with resized_crop 8/7 of image_size (256 for 224), else "
                  "image_size, without antialiasing"});
  keys.push_back({"data.mean",
                  &c.mean,
                  {.min = 0, .max = 1},
                  "Taken away from pixels / 255, a number for each channel; with data.std. Not "
                  "set: usual values of the data set, ImageNet's for image_folder"});
  keys.push_back({"data.std",
                  &c.deviation,
                  {.min = 0, .max = 1, .above_min = true},
                  "What the rest is divided by, a number for each channel"});
  keys.push_back({"data.shuffle",
                  &c.shuffle,
                  {},
                  "Training samples in another order in each epoch, else in that of the files"});
  keys.push_back({"data.drop_last",
                  &c.drop_last,
                  {},
                  "Leave out the epoch's incomplete last batch, else fill it up to a whole global "
                  "batch with first samples"});
  keys.push_back(
      {"data.prefetch", &c.prefetch, {.min = 1, .max = 1024}, "Batches in flight per worker"});
  keys.push_back(
      {"data.slices", &c.slices, count_to(1000000),
       "Parts that a global batch is computed in, whoever computes them: what a run comes to "
       "depends on "
       "them and not on how many workers share them; unset: one for each worker and micro-batch"});
  keys.push_back(
      {"data.dealing", &c.dealing, one_of({"even", "speed"}),
       "How slices are dealt to workers. even: as many to each as can be; speed: so many that all "
       "are done at the same time, as they are measured after 8 steps, and then every 64"});
  keys.push_back({"data.recorded_dealing", &c.recorded_dealing, a_path(),
                  "events.jsonl of another run: slices are dealt as they were there, step by step, "
                  "so that the bits are those of that run"});
  keys.push_back({"data.loader_threads",
                  &c.loader_threads,
                  {.min = 1, .max = 1024},
                  "Threads that decode and augment, per node"});
  keys.push_back({"data.residency", &c.residency, one_of({"auto", "device", "host"}),
                  "Where a CUDA worker's pixels lie; auto: in its memory when there is room"});
  keys.push_back({"data.skip_unreadable",
                  &c.skip_unreadable,
                  {},
                  "A file of an image folder that cannot be read does not end the run: in training "
                  "the next file stands for it, in evaluation it does not count. troupe data check "
                  "finds such files beforehand"});
  keys.push_back(
      {"data.limit", &c.limit, at_least(1),
       "Train on only N samples: images are spread evenly over the classes; of other data, the "
       "first N samples are used"});
  keys.push_back({"data.eval_limit", &c.eval_limit, at_least(1),
                  "Evaluate on only N test samples, evenly spaced over the test set"});
  keys.push_back({"data.synthetic_samples", &c.synthetic_samples, count_to(1000000000),
                  "Size of the synthetic data set"});
  keys.push_back(
      {"data.features", &c.features, {}, "csv: names of the columns that are the input"});
  keys.push_back({"data.targets",
                  &c.targets,
                  {},
                  "csv: names of the columns to predict: as many numbers as model.num_classes with "
                  "mean_squared_error, one class (a word, or 0 to num_classes - 1) "
                  "with cross_entropy"});
  keys.push_back({"data.standardize",
                  &c.standardize,
                  {},
                  "csv: of each feature, take away the mean of the training rows, and divide by "
                  "their standard deviation"});
  keys.push_back({"data.delimiter", &c.delimiter, one_of(delimiter_names()),
                  "csv: character between the cells of a row"});
  add_text(keys, c);
  std::ranges::move(custom_data_keys(c), std::back_inserter(keys));
}

void add_optimizer(Keys& keys, OptimizerConfig& c) {
  keys.push_back({"train.optimizer.name", &c.name, one_of({"sgd", "adam", "adamw"}),
                  "As PyTorch defines them"});
  keys.push_back({"train.optimizer.lr", &c.lr, above(0), "Learning rate, before the schedule"});
  keys.push_back({"train.optimizer.momentum", &c.momentum, fraction(), "sgd"});
  keys.push_back({"train.optimizer.nesterov", &c.nesterov, {}, "sgd: look one step ahead"});
  keys.push_back({"train.optimizer.weight_decay", &c.weight_decay, at_least(0),
                  "L2 for sgd and adam, decoupled for adamw"});
  keys.push_back({"train.optimizer.decay", &c.decay, one_of({"all", "matrices"}),
                  "What weight_decay is for: all parameters; matrices: those of two dimensions or "
                  "more, as is usual for language models, whose norms and biases do not decay"});
  keys.push_back({"train.optimizer.beta1", &c.beta1, fraction(), "adam, adamw: first moment"});
  keys.push_back({"train.optimizer.beta2", &c.beta2, fraction(), "adam, adamw: second moment"});
  keys.push_back({"train.optimizer.eps", &c.eps, above(0), "adam, adamw"});
}

void add_train(Keys& keys, TrainConfig& c) {
  keys.push_back({"train.epochs", &c.epochs, count_to(1000000),
                  "Passes over the training data; null: as many as max_steps or max_tokens take"});
  keys.push_back({"train.max_steps", &c.max_steps, at_least(1), "End after so many steps"});
  keys.push_back({"train.max_tokens", &c.max_tokens, count_to(1e15),
                  "End after so many tokens, in whole steps; of epochs, max_steps and max_tokens "
                  "the first to be reached counts"});
  add_optimizer(keys, c.optimizer);
  auto& s = c.schedule;
  keys.push_back({"train.schedule.name", &s.name,
                  one_of({"constant", "step", "cosine", "linear", "wsd"}),
                  "How the learning rate changes: step, by milestones; cosine and linear, down to "
                  "the end of the run; wsd (warm-up, stable, decay), in its last part alone"});
  keys.push_back({"train.schedule.warmup", &s.warmup, at_least(0),
                  "Length of the linear warm-up before it: a number of epochs, or of steps, or of "
                  "tokens, or a share of the run (1, 200 steps, 2e6 tokens, 2%)"});
  keys.push_back({"train.schedule.milestones", &s.milestones, above(0),
                  "step: where the rate is multiplied by gamma, from the start of the run, written "
                  "as warmup is"});
  keys.push_back({"train.schedule.gamma", &s.gamma, above(0), "step"});
  keys.push_back({"train.schedule.decay", &s.decay, at_least(0),
                  "wsd: length of the decay at the end of the run, written as warmup is"});
  keys.push_back(
      {"train.schedule.min_lr", &s.min_lr, at_least(0), "cosine, linear, wsd: the last rate"});
  keys.push_back({"train.sample.every", &c.sample.every, {}, "How often it writes"});
  keys.push_back({"train.sample.prompt",
                  &c.sample.prompt,
                  {},
                  "What it goes on from; empty: what documents begin with"});
  keys.push_back({"train.sample.tokens", &c.sample.tokens, count_to(1000), "At most"});
  keys.push_back({"train.accumulate", &c.accumulate, count_to(1000000),
                  "Micro-batches per worker and step; their gradients are averaged"});
  keys.push_back(
      {"train.clip_grad_norm", &c.clip_grad_norm, above(0), "Largest global norm of the gradient"});
  keys.push_back({"train.clip_grad_value", &c.clip_grad_value, above(0),
                  "Largest size of each of its elements, clipped before the norm"});
  keys.push_back(
      {"train.gradient_norm_every", &c.gradient_norm_every, at_least(0),
       "Steps from one measured norm of the gradient to the next, for metrics; with "
       "clip_grad_norm every one is. 0: none. In such a step the optimizer waits for all "
       "gradients, as it does when they are clipped; what is computed stays the same"});
  keys.push_back({"train.clip_before_unscale",
                  &c.clip_before_unscale,
                  {},
                  "Clip gradients that still have the loss scale: refused where that differs",
                  "it is refused where it would matter, and changes nothing elsewhere; leave it "
                  "out"});
  keys.push_back({"train.label_smoothing", &c.label_smoothing, fraction(),
                  "cross_entropy: share of the target spread over all classes"});
  keys.push_back(
      {"train.freeze",
       &c.freeze,
       {},
       "Units and modules, by name (stem, layer1, layer2.0.conv1), whose parameters stay "
       "as they are; statistics of batch norm go on, as with PyTorch's requires_grad"});
  keys.push_back(
      {"train.lr_scale", &c.lr_scale, at_least(0), // 0 is refused with advice
       "Multiplies the learning rate of units and modules, by name ({fc: 10, layer1: "
       "0.1}), each by more than 0; where several contain a parameter, the smallest decides"});
  keys.push_back(
      {"train.recompute",
       &c.recompute,
       {},
       "Activation checkpointing: what backward computes again instead of keeping it. "
       "block: what lies inside every unit (stem, residual block); a list: inside units "
       "of these names (layer1, layer2.0); fit: as little as lets all activations of a "
       "worker's training step, as the memory plan lays them out, take up at most SIZE"});
  keys.push_back({"train.evaluate_every", &c.evaluate_every, at_least(0),
                  "Epochs between evaluations on the test set; 0: never"});
}

void add_execution(Keys& keys, Config& c) {
  keys.push_back({"precision.mode", &c.precision.mode,
                  one_of({"fp32", "tf32", "fp16", "bf16", "amp_fp16", "amp_bf16"}),
                  "Type of the arithmetic; fp16 and bf16 round the parameters too"});
  auto& scale = c.precision.loss_scale;
  keys.push_back({"precision.loss_scale.enabled", &scale.enabled, {}, "amp_fp16: scale the loss"});
  keys.push_back({"precision.loss_scale.initial",
                  &scale.initial,
                  {.min = 0, .max = 1e30, .above_min = true},
                  "The first scale"});
  keys.push_back({"precision.loss_scale.growth_factor",
                  &scale.growth_factor,
                  {.min = 1, .max = 1e6, .above_min = true},
                  "Multiplies the scale after growth_interval good steps in a row"});
  keys.push_back({"precision.loss_scale.backoff_factor",
                  &scale.backoff_factor,
                  {.min = 0, .max = 1, .above_min = true, .below_max = true},
                  "Multiplies the scale after a step whose gradient is not finite"});
  keys.push_back({"precision.loss_scale.growth_interval", &scale.growth_interval,
                  count_to(2000000000), "Steps"});
  add_parallel_keys(keys, c.parallel);
  keys.push_back({"devices.kind", &c.devices.kind, one_of({"auto", "cpu", "cuda"}),
                  "What workers run on; auto: the fastest there is"});
  keys.push_back(
      {"devices.count", &c.devices.count, {.min = 1, .max = 1024}, "Workers on this node"});
  keys.push_back({"devices.threads_per_worker",
                  &c.devices.threads_per_worker,
                  {.min = 0, .max = 1024},
                  "0: the cores that this process may use (affinity, CPU quota), divided by count; "
                  "results depend on it in the last bits"});
  keys.push_back({"devices.engine", &c.devices.engine, one_of({"fastest", "interpreter"}),
                  "Kernels; interpreter is the slow reference"});
  keys.push_back({"devices.fusion", &c.devices.fusion, one_of({"full", "basic"}),
                  "CUDA: full joins batch norm with the convolutions around it"});
}

void add_service(Keys& keys, Config& c) {
  add_cluster_keys(keys, c.cluster);
  keys.push_back({"checkpoint.every", &c.checkpoint.every, {}, "How often one is written"});
  keys.push_back({"checkpoint.keep", &c.checkpoint.keep, at_least(1), "The last N are kept"});
  keys.push_back({"checkpoint.resume", &c.checkpoint.resume, a_path(),
                  "auto (the run's newest good one, if any), never, or the path of a checkpoint"});
  keys.push_back({"checkpoint.state", &c.checkpoint.state, one_of({"full", "sharded"}),
                  "full: rank 0 writes all of it; sharded: every rank writes its part at the same "
                  "time, for states that fit on no rank. Hosts of a job then share run.output. "
                  "Either goes on with any strategy, precision and number of workers"});
  keys.push_back({"checkpoint.best", &c.checkpoint.best, one_of({"none", "accuracy", "loss"}),
                  "What evaluations are compared by: the best checkpoint is kept beside the last "
                  "ones, as checkpoints/best, and written whether one is due or not"});
  keys.push_back(
      {"metrics.listen",
       &c.metrics.listen,
       {.format = Format::endpoint_or_off},
       "Where Prometheus scrapes, and the run's page is; port 0 takes a free one. Where the "
       "port is in use, a run in the foreground takes the next free one, and a daemon "
       "refuses"});
  keys.push_back(
      {"metrics.password_file", &c.metrics.password_file, a_path(),
       "A file with one line, which its owner alone may read: the password that the "
       "run's page asks for, with any user name. Not set: this host alone sees the page, "
       "without one. Other hosts see it over TLS (cluster.tls) only"});
  keys.push_back(
      {"metrics.linger",
       &c.metrics.linger,
       {},
       "A run that Prometheus scrapes waits with its end for the scrape that shows it, so "
       "long at most: longer than scrape_interval"});
  keys.push_back(
      {"metrics.reads",
       &c.metrics.reads,
       {},
       "async: events.jsonl says with which version of the parameters each gradient of a "
       "step was computed; diloco: whose changes each sum has taken"});
  keys.push_back({"metrics.push",
                  &c.metrics.push,
                  {.format = Format::web_address},
                  "A Prometheus Pushgateway, for jobs that are over before they are scraped: every "
                  "15 s, and at the end, metrics are PUT to "
                  "/metrics/job/troupe/run/NAME/instance/HOST there"});
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
      {"model", "What is trained"},
      {"data", "What it is trained on"},
      {"train", "How it is trained"},
      {"train.optimizer", "The update of the parameters"},
      {"train.schedule", "The learning rate over time"},
      {"train.sample", "What a language model writes as it is trained"},
      {"precision", "Types of numbers"},
      {"precision.loss_scale", "Loss scaling, as PyTorch's GradScaler does it"},
      {"parallel", "How the job is spread over workers"},
      {"parallel.wrap", "What is gathered together"},
      {"parallel.mixed_precision", "Types of what travels, as FSDP's MixedPrecision has them"},
      {"parallel.outer", "diloco: teams, and the outer optimizer over what they have changed"},
      {"parallel.offload", "State in the host's memory; a word alone is its target", "target"},
      {"devices", "The workers of this node"},
      {"cluster", "The daemon, and the nodes it works with"},
      {"cluster.tls", "Who may connect: those who show a certificate of the same authority"},
      {"cluster.timeouts", "How long the company waits: heartbeat < detection < form < quorum, "
                           "detection < collective < quorum, heartbeat < handshake"},
      {"checkpoint", "Saving and resuming"},
      {"metrics", "The Prometheus endpoint, and the run's page"},
  };
  return sections;
}

} // namespace troupe
