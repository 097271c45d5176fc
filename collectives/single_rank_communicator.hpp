/// A group of one rank, on any device: what comes from all ranks is copied from itself.
#pragma once

#include "collectives/communicator.hpp"

#include <memory>

namespace troupe::collectives {

/// For streams of the device. Nothing can fail but a copy; there is nobody to abort.
std::unique_ptr<Communicator> make_single_rank_communicator(std::shared_ptr<Device> device);

} // namespace troupe::collectives
