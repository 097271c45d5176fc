/// What `troupe doctor` says of the host's processors and memory.
#pragma once

#include "core/device/description.hpp"

namespace troupe::cpu {

/// Processor, instruction sets, cores, memory, and what precisions mean on it.
Traits description();

} // namespace troupe::cpu
