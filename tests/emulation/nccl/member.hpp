/// A rank as its group sees it: receives results and news of the group.
#pragma once

#include "tests/emulation/nccl/operation.hpp"

namespace emulation::nccl {

struct Place {
  int rank,
      gpu; ///< gpu: the machine's number, which may differ from the number in the rank's process
};

/// Called by any thread; does not block.
class Member {
public:
  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  virtual ~Member() = default;

  /// Called when all ranks have joined; some may have left since.
  virtual void complete() = 0;
  /// Returns the result of the operation with this ticket.
  virtual void answer(std::uint64_t ticket, BytesPtr result) = 0;
  /// Called when the operations that it waits for cannot complete; the rank has to abort.
  virtual void fail(ncclResult_t why) = 0;
};

} // namespace emulation::nccl
