/// Salvages the shards of this node's ranks after other nodes may be gone and streams have failed.
#pragma once

#include "training/generation.hpp"

namespace troupe::training {

/// Copies each rank's shard of the last step that it has applied. A rank that has prepared the next
/// step but not applied it applies it and gives that shard too, because other ranks may have
/// applied it. The generation is unusable afterwards. Precondition: its streams have been drained.
/// Blocks. Errors: those of the devices.
Result<RetainedStates> salvage_shards(const Generation& generation);

} // namespace troupe::training
