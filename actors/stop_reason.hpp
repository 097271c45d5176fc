/// Why a node ends, or its whole job.
#pragma once

#include "actors/inspect.hpp"

#include <cstdint>

namespace troupe::actors {

enum class StopReason : std::uint8_t {
  // Requests. Only these are sent to other processes.
  job,       ///< all nodes finish their steps, save, and end
  node,      ///< only this node ends, if the others can continue
  signal,    ///< like `node`; like `job` if the others could not continue
  withdrawn, ///< this node no longer waits for an assignment
  // The end of the job for this node.
  ended, ///< the COORDINATOR of this node has ended the job
  died,  ///< the COORDINATOR of this node has died
  told   ///< the job has ended elsewhere, or its leader is lost and has no successor
};

constexpr bool is_request(StopReason reason) {
  return reason <= StopReason::withdrawn;
}

template <class Inspector>
bool inspect(Inspector& f, StopReason& x) {
  return inspect_enum(f, x, StopReason::withdrawn);
}

} // namespace troupe::actors
