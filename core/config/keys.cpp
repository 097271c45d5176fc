// The table of all keys, except those that only some models take, which are defined with these
// models, and those of custom data sets. A new key is a member in config.hpp and a line here.
#include "core/config/detail/keys.hpp"
#include "core/config/catalogue.hpp"

namespace troupe {

namespace {

void add_run(KeyList& keys, RunConfig& c) {
  keys.add("run.name", c.name, of_format(ConfigFormat::folder_name),
           "Name of the run; its files go to output/name/. Not set: the config file's name without "
           "its extension");
  keys.add("run.output", c.output, a_path(), "Folder of all runs");
  keys.add("run.seed", c.seed, "Seeds initialization, shuffling and augmentation");
  keys.add("run.deterministic", c.deterministic,
           "Use only deterministic kernels: runs with equal threads_per_worker have the same bits");
  keys.add("run.tensorboard", c.tensorboard,
           "Also write losses, accuracies, speed and memory for TensorBoard, into "
           "output/name/tensorboard/");
}

void add_model(KeyList& keys, ModelConfig& c, const Catalogue& catalogue) {
  keys.add("model.name", c.name, one_of(catalogue.names),
           catalogue.help.empty() ? "Architecture" : "Architecture; " + catalogue.help);
  keys.add("model.num_classes", c.num_classes, count_to(1000000), "Size of the output");
  keys.add("model.in_channels", c.in_channels, between(1, 3),
           "Channels of an image: 1 grey (an image folder is converted to it), 3 colour (grey "
           "images are replicated)");
  if (catalogue.keys)
    keys.append(catalogue.keys(c));
  keys.add("model.loss", c.loss, "Loss function to minimize");
  keys.add("model.autocast_off", c.autocast_off,
           "Modules, by name (layer1.0, fc), that amp computes in fp32; -NAME (-layer1.0.conv1) "
           "switches amp on again for a module inside one of these");
  keys.add("model.pretrained", c.pretrained, a_path(),
           "A safetensors file with initial parameters and statistics: a checkpoint, or a file "
           "that PyTorch saved with torchvision's names; for language models also a Hugging Face "
           "folder. A head of another size or a different stem is initialized randomly");
  keys.add("model.sync_batch_norm", c.sync_batch_norm,
           "Compute batch norm over the micro-batches that all workers process at the same time, "
           "like PyTorch's SyncBatchNorm; with accumulate: 1 these are the global batch. Not "
           "supported for GPUs of several nodes");
}

FormsTarget loss_scale_forms(LossScaleConfig& c) {
  const ConfigRule initial = {.min = 0, .max = 1e30, .above_min = true},
                   growth = {.min = 1, .max = 1e6, .above_min = true},
                   backoff = {.min = 0, .max = 1, .above_min = true, .below_max = true};
  return {&c,
          {word_form("on", c), word_form("off", c, {.enabled = false}),
           fields_form(
               c, {},
               {bound_key("initial", c.initial, initial, "initial scale; default 65536"),
                bound_key("growth_factor", c.growth_factor, growth,
                          "multiplies the scale after growth_interval consecutive steps with "
                          "finite gradients; default 2"),
                bound_key(
                    "backoff_factor", c.backoff_factor, backoff,
                    "multiplies the scale after a step whose gradient is not finite; default 0.5"),
                bound_key("growth_interval", c.growth_interval, count_to(2000000000),
                          "steps; default 2000")},
               [](const LossScaleConfig& scale) { return scale.enabled; })}};
}

FormsTarget resume_forms(ResumeConfig& c) {
  using Kind = ResumeConfig::Kind;
  return {&c,
          {word_form("auto", c), word_form("never", c, {.kind = Kind::never}),
           fields_form(c, {.kind = Kind::path}, {bound_key("", c.path, a_path())})}};
}

void add_execution(KeyList& keys, Config& c) {
  keys.add("precision.mode", c.precision.mode,
           "Type of the arithmetic; fp16 and bf16 also round the parameters");
  keys.add("precision.loss_scale", loss_scale_forms(c.precision.loss_scale),
           "amp_fp16: loss scaling, as in PyTorch's GradScaler");
  add_parallel_keys(keys, c.parallel);
  keys.add("devices.kind", c.devices.kind, "Devices of the workers; auto: the fastest available");
  keys.add("devices.count", c.devices.count, between(1, 1024), "Workers on this node");
  keys.add("devices.threads_per_worker", c.devices.threads_per_worker, between(0, 1024),
           "Threads per worker; 0: the cores that this process may use (affinity, CPU quota), "
           "divided by count. Results depend on it in the last bits");
  keys.add("devices.engine", c.devices.engine, "Kernels; interpreter is the slow reference");
  keys.add_hidden("devices.fusion", c.devices.fusion, {},
                  "CUDA: full fuses norms with the convolutions, additions and casts around them, "
                  "and lets cuDNN compute attention");
}

void add_service(KeyList& keys, Config& c) {
  add_cluster_keys(keys, c.cluster);
  keys.add("checkpoint.every", c.checkpoint.every, "How often a checkpoint is written");
  keys.add("checkpoint.keep", c.checkpoint.keep, at_least(1),
           "Number of checkpoints to keep, the newest ones");
  keys.add(
      "checkpoint.resume", resume_forms(c.checkpoint.resume),
      "Checkpoint to resume from: auto (the run's newest valid one, if any), never, or a path");
  keys.add("checkpoint.state", c.checkpoint.state,
           "full: rank 0 writes all of it; sharded: all ranks write their shards at the same time, "
           "for states that do not fit on one rank; all hosts must then share run.output. Both can "
           "be resumed with any strategy, precision and number of workers");
  keys.add("checkpoint.best", c.checkpoint.best,
           "Metric by which evaluations are compared. The best checkpoint is kept in addition to "
           "the newest ones, as checkpoints/best, and written even if none is due");
  keys.add("metrics.listen", c.metrics.listen, of_format(ConfigFormat::endpoint_or_off),
           "Address of the Prometheus endpoint and of the run's page; port 0: any free port. If "
           "the port is in use, a run in the foreground takes the next free one, and a daemon "
           "refuses to start");
  keys.add("metrics.password_file", c.metrics.password_file, a_path(),
           "A file with one line, the password of the run's page (with any user name); only its "
           "owner may have access. Not set: only this host can see the page, without a password. "
           "Other hosts can see it only over TLS (cluster.tls)");
  keys.add("metrics.linger", c.metrics.linger,
           "Maximum time that a run scraped by Prometheus waits at its end for the last scrape; "
           "must be longer than scrape_interval");
  keys.add("metrics.reads", c.metrics.reads,
           "Record in events.jsonl. async: with which version of the parameters each gradient of a "
           "step was computed; diloco: which pseudo-gradients each sum contains");
  keys.add("metrics.push", c.metrics.push, of_format(ConfigFormat::web_address),
           "A Prometheus Pushgateway, for jobs that end before they are scraped: metrics are PUT "
           "to its /metrics/job/troupe/run/NAME/instance/HOST every 15 s and at the end");
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
  KeyList keys;
  add_run(keys, config.run);
  add_model(keys, config.model, catalogue);
  add_data_keys(keys, config.data);
  add_train_keys(keys, config.train);
  add_execution(keys, config);
  add_service(keys, config);
  return keys.take();
}

const std::vector<ConfigSection>& config_sections() {
  static const std::vector<ConfigSection> sections = {
      {"run", "The run and its files"},
      {"model", "The model and its loss"},
      {"data", "The data set, batches and slices"},
      {"train", "Length of the run, gradients and evaluation"},
      {"train.optimizer", "The optimizer"},
      {"train.schedule", "The learning rate schedule"},
      {"precision", "Number types"},
      {"parallel", "How the job is distributed over workers"},
      {"parallel.local_sgd", "Strategy local_sgd: rounds between averages of the parameters"},
      {"parallel.diloco",
       "Strategy diloco: replica groups, and the outer optimizer of their pseudo-gradients"},
      {"parallel.async", "Strategy async: how stale parameters may be, and how gradients count"},
      {"devices", "The workers of this node"},
      {"cluster", "The daemon, and the nodes it works with"},
      {"cluster.timeouts", "Timeouts of the node runtime: detection < rejoin < quorum, "
                           "detection < collective < quorum, collective <= drain"},
      {"checkpoint", "Saving and resuming"},
      {"metrics", "The Prometheus endpoint, and the run's page"},
  };
  return sections;
}

} // namespace troupe
