/// Rows that accelerate's deepspeed_config and DeepSpeed's own file share.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

/// Stage of a DeepSpeed file; 0 if it sets none.
std::int64_t deepspeed_stage(const ForeignContext& context);

/// Translates ZeRO's stage; empty if there is no such stage.
ForeignSettings zero_stage_settings(std::int64_t stage);

// These map the values of keys that the two files name differently.

ForeignOutcome map_zero_stage(const ForeignContext& context, const ForeignEntry& entry);
ForeignOutcome map_clipping(const ForeignContext& context, const ForeignEntry& entry);
/// Map the device of the optimizer's state or of parameters: none, cpu, nvme. The stage decides
/// whether it is possible.
ForeignOutcome map_optimizer_device(const ForeignContext& context, const ForeignEntry& entry);
ForeignOutcome map_parameter_device(const ForeignContext& context, const ForeignEntry& entry);
/// Maps whether weights that stage 3 divides are gathered for saving.
ForeignOutcome map_gathered_weights(const ForeignContext& context, const ForeignEntry& entry);

} // namespace troupe
