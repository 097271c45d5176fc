/// A rank as its group sees it: where results and news of the group go.
#pragma once

#include "tests/emulation/nccl/operation.hpp"

namespace emulation::nccl {

struct Place {
  int rank, gpu; ///< the machine's, whichever number it has in the rank's process
};

/// Called by any thread; does not block.
class Member {
public:
  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  virtual ~Member() = default;

  /// All ranks have joined; they may have left since.
  virtual void complete() = 0;
  /// Of the operation that it brought with this ticket.
  virtual void answer(std::uint64_t ticket, BytesPtr result) = 0;
  /// What it waits for will not come; it has to abort.
  virtual void fail(ncclResult_t why) = 0;
};

} // namespace emulation::nccl
