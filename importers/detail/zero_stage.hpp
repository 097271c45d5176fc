/// What accelerate's deepspeed_config and DeepSpeed's own file say alike.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

/// ZeRO's stages in troupe's words; empty: there is no such stage.
ForeignSettings zero_stage_settings(std::int64_t stage);

/// Values of keys, whatever their names are.
ForeignOutcome map_clipping(const ForeignContext& context, const ForeignEntry& entry);
/// Where the optimizer's state lies: none, cpu, nvme. `stage` decides whether it is possible.
ForeignOutcome map_optimizer_device(const ForeignEntry& entry, std::int64_t stage);
ForeignOutcome map_parameter_device(const ForeignEntry& entry, std::int64_t stage);
/// Whether weights that stage 3 divides are gathered to be saved.
ForeignOutcome map_gathered_weights(const ForeignEntry& entry, std::int64_t stage);

} // namespace troupe
