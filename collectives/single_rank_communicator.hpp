/// A group of one rank, on any device: gathered values are copies of the rank's values.
#pragma once

#include "collectives/communicator.hpp"

#include <memory>

namespace troupe::collectives {

/// Takes streams of the device. Only a copy can fail. abort() has no effect.
std::unique_ptr<Communicator> make_single_rank_communicator(std::shared_ptr<Device> device);

} // namespace troupe::collectives
