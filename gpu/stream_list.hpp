/// The live streams of a node's CUDA devices, and the hardware queues that they share.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::gpu {

class CudaStream;

/// A driver may assign a device's hardware queues to streams in turn, including streams that live
/// only for a measurement. Two long-lived streams can then get the same queue although others are
/// free, and one blocks whenever the other waits for the host. Thread-safe.
class StreamList {
public:
  void add(CudaStream& stream);
  /// Blocks while separate() runs: the stream stays alive as long as it is looked at.
  void remove(CudaStream& stream);

  /// Finds streams of one device that share a queue, and replaces the later one until it has
  /// another. `say` gets a line for each, and one for a device without a free queue, whose other
  /// streams stay as they are. For set-up: no other thread may use a stream of the list meanwhile.
  /// Takes less than a millisecond a pair, and 20 ms for each collision.
  void separate(const std::function<void(const std::string& line)>& say);

private:
  std::mutex mutex_;
  std::vector<CudaStream*> streams_; ///< in the order in which they were made
};

/// Whether work on `other` waits for `held`. Both must be idle.
bool share_queue(CudaStream& held, CudaStream& other);

} // namespace troupe::gpu
