/// Accepts ranks of other processes into the groups of this process, which created their ids.
#pragma once

#include "tests/emulation/nccl/local_group.hpp"

#include <string>

namespace emulation::nccl {

/// Returns the unique place of this process, which listens there from the first call on.
std::uint64_t listener();
std::string name_of_listener(std::uint64_t place);

/// Returns a group of this process; the first caller creates it, and its members keep it alive.
std::shared_ptr<LocalGroup> group_of(std::uint64_t number, int size);

} // namespace emulation::nccl
