/// What this node's ranks hold of a state that was divided among all, where other nodes may be
/// gone, and streams have failed.
#pragma once

#include "training/generation.hpp"

namespace troupe::training {

/// Of the step that each of them has come to, and where it has voted for the next one and not
/// applied it, of that too, which it then applies: others may have. The generation is of no use
/// afterwards. Blocks; its streams have been drained. Errors: of the devices.
Result<RetainedStates> salvage_shards(const Generation& generation);

} // namespace troupe::training
