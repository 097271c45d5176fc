/// The host's part of making batches: reads and augments samples on a node's loader streams.
#pragma once

#include "core/device/device.hpp"
#include "metrics/trace.hpp"
#include "training/input/loader_work.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace troupe::training {

/// A stream that batches are made on, and its row in the timeline.
struct LoaderStream {
  std::shared_ptr<Stream> stream;
  metrics::Track row = {};
};

inline constexpr metrics::SpanLabel batch_span = {metrics::SpanKind::data, "batch"};

/// Called from a stream's thread if its work has failed. Must not block.
using LoadFailed = std::function<void(Error)>;

/// Calls `failed` if the work enqueued on the stream so far fails.
void report_failure(Stream& stream, const LoadFailed& failed);

/// Uses its streams in turn. Each producer has its own loader; they share the streams.
class HostLoader {
public:
  explicit HostLoader(std::vector<LoaderStream> streams,
                      std::shared_ptr<LoaderWork> work = std::make_shared<LoaderWork>())
      : streams_{std::move(streams)}, work_{std::move(work)} {}

  /// Enqueues `load` on the next stream, and counts its time. Returns the event after it.
  EventPtr enqueue(std::function<Status()> load, const LoadFailed& failed);

private:
  std::vector<LoaderStream> streams_;
  std::shared_ptr<LoaderWork> work_;
  std::size_t next_ = 0;
};

} // namespace troupe::training
