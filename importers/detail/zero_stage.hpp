/// Rows that accelerate's deepspeed_config and DeepSpeed's own file share.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

/// Translates ZeRO's stage; empty if there is no such stage.
ForeignSettings zero_stage_settings(std::int64_t stage);

/// Maps the value of a key that the two files name differently.
ForeignOutcome map_clipping(const ForeignContext& context, const ForeignEntry& entry);
/// Maps the device of the optimizer's state: none, cpu, nvme. `stage` decides whether it is
/// possible.
ForeignOutcome map_optimizer_device(const ForeignEntry& entry, std::int64_t stage);
ForeignOutcome map_parameter_device(const ForeignEntry& entry, std::int64_t stage);
/// Maps whether weights that stage 3 divides are gathered for saving.
ForeignOutcome map_gathered_weights(const ForeignEntry& entry, std::int64_t stage);

} // namespace troupe
