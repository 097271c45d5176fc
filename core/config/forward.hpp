/// The config's types by name alone, for headers that only refer to them: after a new key only the
/// code that reads keys is compiled again.
#pragma once

namespace troupe {

struct Config;
struct RunConfig;
struct ModelConfig;
struct Catalogue;
struct DataConfig;
struct OptimizerConfig;
struct ScheduleConfig;
struct TrainConfig;
struct PrecisionConfig;
struct ParallelConfig;
struct OffloadConfig;
struct DevicesConfig;
struct ClusterConfig;
struct MetricsConfig;

} // namespace troupe
