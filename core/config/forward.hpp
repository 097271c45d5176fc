/// Forward declarations of the config's types. Headers that only refer to them include this, so
/// that a new key recompiles only the code that reads keys.
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
struct AsyncConfig;
struct DevicesConfig;
struct ClusterConfig;
struct MetricsConfig;

} // namespace troupe
