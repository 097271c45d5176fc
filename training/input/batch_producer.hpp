/// Fills micro-batches in a device's memory: where pixels come from, and who augments them.
#pragma once

#include "data/batch.hpp"
#include "data/slice_assignment.hpp"
#include "metrics/trace.hpp"
#include "training/input/loader_work.hpp"
#include "training/input/micro_batch.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace troupe::training {

/// A stream that batches are made on, its row in the timeline, and where a host stream's work is
/// counted.
struct LoaderStream {
  std::shared_ptr<Stream> stream;
  metrics::Track row = {};
  std::shared_ptr<LoaderWork> work = std::make_shared<LoaderWork>();
};

/// A micro-batch that is being filled: its memory, and when it may be read.
struct Filling {
  BatchView view;
  EventPtr ready;
};

/// For one rank and one purpose; used by the DATA LOADER alone. Has memory for `slots`
/// micro-batches and is told which to use next.
class BatchProducer {
public:
  /// Called from a thread of a device when a filling has failed. Must not block.
  using Failed = std::function<void(Error)>;

  virtual ~BatchProducer() = default;
  virtual std::int32_t slots() const = 0;
  /// Samples of a micro-batch, with padding.
  virtual std::int64_t samples() const = 0;
  /// Enqueues; never blocks. Nobody may be reading the slot.
  virtual Filling fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                       const Failed& failed) = 0;

protected:
  /// Calls `failed` if what has been enqueued on the stream fails.
  static void report_failure(Stream& stream, const Failed& failed);
  static constexpr metrics::SpanLabel batch_span = {metrics::SpanKind::data, "batch"};
};

/// On the host: streams of the host read, augment and write what the host device trains on. Streams
/// are shared between fillers.
class HostProducer final : public BatchProducer {
public:
  HostProducer(std::shared_ptr<const data::BatchAssembler> assembler,
               std::vector<data::BatchBuffer> buffers, std::vector<LoaderStream> streams)
      : assembler_{std::move(assembler)}, buffers_{std::move(buffers)}, streams_{
                                                                            std::move(streams)} {}

  std::int32_t slots() const override { return static_cast<std::int32_t>(buffers_.size()); }
  std::int64_t samples() const override { return buffers_.front().samples; }
  Filling fill(std::int32_t slot, data::Position at, const data::Slice& slice,
               const Failed& failed) override;

private:
  std::shared_ptr<const data::BatchAssembler> assembler_;
  std::vector<data::BatchBuffer> buffers_;
  std::vector<LoaderStream> streams_;
  std::size_t next_stream_ = 0;
};

} // namespace troupe::training
