/// Description of the host's processors and memory for `troupe doctor`.
#pragma once

#include "core/device/description.hpp"

namespace troupe::cpu {

/// Describes the processor, instruction sets, cores and memory, and what each precision means on
/// this processor.
Traits description();

} // namespace troupe::cpu
