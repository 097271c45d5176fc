/// Where ranks of other processes come into the groups of this one, which made their ids.
#pragma once

#include "tests/emulation/nccl/local_group.hpp"

#include <string>

namespace emulation::nccl {

/// The place of this process, which listens there from the first call on; no other process has it.
std::uint64_t listener();
std::string name_of_listener(std::uint64_t place);

/// Of this process; made by whoever comes first, and kept by those who have come.
std::shared_ptr<LocalGroup> group_of(std::uint64_t number, int size);

} // namespace emulation::nccl
