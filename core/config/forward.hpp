/// The config's types by name alone, for headers that only refer to them: a new key compiles again
/// what reads keys, and no more.
#pragma once

namespace troupe {

struct Config;
struct RunConfig;
struct ModelConfig;
struct ModelCatalogue;
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
