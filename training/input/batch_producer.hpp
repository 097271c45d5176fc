/// Producers of micro-batches in a device's memory. They differ in where pixels come from and what
/// augments them.
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

/// A stream that batches are made on, its row in the timeline, and the counter of a host stream's
/// work.
struct LoaderStream {
  std::shared_ptr<Stream> stream;
  metrics::Track row = {};
  std::shared_ptr<LoaderWork> work = std::make_shared<LoaderWork>();
};

/// A micro-batch that is being filled: its memory, and the event after which it may be read.
struct Filling {
  BatchView view;
  EventPtr ready;
};

/// Fills micro-batches for one rank and one pass mode. Used only by the DATA LOADER. Has memory for
/// `slots` micro-batches; the caller chooses the slot.
class BatchProducer {
public:
  /// Called from a device's thread if filling has failed. Must not block.
  using Failed = std::function<void(Error)>;

  virtual ~BatchProducer() = default;
  virtual std::int32_t slots() const = 0;
  /// Samples of a micro-batch, with padding.
  virtual std::int64_t samples() const = 0;
  /// Enqueues; never blocks. Precondition: nothing reads the slot.
  virtual Filling fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                       const Failed& failed) = 0;

protected:
  /// Calls `failed` if the work enqueued on the stream fails.
  static void report_failure(Stream& stream, const Failed& failed);
  static constexpr metrics::SpanLabel batch_span = {metrics::SpanKind::data, "batch"};
};

/// Makes batches for the host device: host streams read, augment and write them. Producers share
/// the streams.
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
