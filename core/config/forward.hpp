/// Forward declarations of the config's types. Headers that only refer to them include this, so
/// that a new key recompiles only the code that reads keys.
#pragma once

namespace troupe {

struct Config;
struct ModelConfig;
struct Catalogue;
struct DataConfig;
struct TableConfig;
struct PrecisionConfig;
struct ParallelConfig;
struct DevicesConfig;

} // namespace troupe
