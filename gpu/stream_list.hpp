/// The live streams of a node's CUDA devices, and which of them share a hardware queue.
#pragma once

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
  /// Blocks while separate() runs, which keeps the stream alive while it is tested.
  void remove(CudaStream& stream);

  /// Finds streams of one device that share a queue, and replaces the later one until it has
  /// another. Calls `say` with a line for each replaced stream. A device without a free queue gets
  /// one line, and its remaining streams stay as they are. For set-up: no other thread may use a
  /// stream of the list meanwhile. Takes less than a millisecond per pair, and 20 ms per collision.
  void separate(const std::function<void(const std::string& line)>& say);

private:
  std::mutex mutex_;
  std::vector<CudaStream*> streams_; ///< in creation order
};

/// Whether work on `other` waits for `held`. Both must be idle.
bool share_queue(CudaStream& held, CudaStream& other);

} // namespace troupe::gpu
