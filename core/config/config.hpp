/// The config file as typed structs, one header for each large section. keys.cpp has the rules of
/// single keys, validate.cpp those between keys; some sections have separate files for them
/// (keys_cluster.cpp, validate_data.cpp).
#pragma once

#include "core/config/checkpoint.hpp"
#include "core/config/cluster.hpp"
#include "core/config/data.hpp"
#include "core/config/devices.hpp"
#include "core/config/model.hpp"
#include "core/config/parallel.hpp"
#include "core/config/train.hpp"
#include "core/graph/precision.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct RunConfig {
  std::string name = "run";
  std::string output = "runs"; ///< folder; the run writes output/name/
  std::uint64_t seed = 1;
  bool deterministic = false;
  bool tensorboard = false; ///< event files in the run's folder

  bool operator==(const RunConfig&) const = default;
};

/// GradScaler's arguments, with its defaults (loss_scale.hpp).
struct LossScaleConfig {
  bool enabled = true; ///< only amp_fp16 scales its loss
  double initial = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000; ///< steps

  bool operator==(const LossScaleConfig&) const = default;
};

struct PrecisionConfig {
  Precision mode = Precision::fp32;
  LossScaleConfig loss_scale;

  bool operator==(const PrecisionConfig&) const = default;
};

struct MetricsConfig {
  std::string listen = "127.0.0.1:9401";    ///< "off", or HOST:PORT; port 0 takes a free one
  std::chrono::milliseconds linger{15000};  ///< longest time that a finished run waits for
                                            ///< Prometheus to scrape it
  std::optional<std::string> push;          ///< URL of a Pushgateway; not set: none
  std::optional<std::string> password_file; ///< of the page; not set: only this host may open it
  bool reads = false; ///< records the parameter version of each gradient in events.jsonl

  bool is_served() const { return listen != "off"; }

  bool operator==(const MetricsConfig&) const = default;
};

struct Config {
  RunConfig run;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  PrecisionConfig precision;
  ParallelConfig parallel;
  DevicesConfig devices;
  ClusterConfig cluster;
  CheckpointConfig checkpoint;
  MetricsConfig metrics;
  /// Lines for the user that load_config adds: old keys, and values that differ from the file's.
  std::vector<std::string> notes = {};

  /// Workers of all nodes. Assumes that each joining node has as many as this one.
  std::int64_t workers() const { return devices.count * cluster.min_nodes; }
  /// Slices of a global batch for a job that starts with this many workers.
  std::int64_t slices(std::int64_t first_workers) const {
    return data.slices.value_or(first_workers * train.accumulate);
  }
  std::int64_t slices() const { return slices(workers()); }

  bool operator==(const Config&) const = default;
};

} // namespace troupe
