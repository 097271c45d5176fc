/// Producers of micro-batches in a device's memory, and the host's loader that they use. Producers
/// differ in where pixels come from and what augments them.
#pragma once

#include "core/device/device.hpp"
#include "data/batch.hpp"
#include "metrics/trace.hpp"
#include "training/input/micro_batch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace troupe::training {

/// Counts the work of all of a node's loader threads. Thread-safe.
class LoaderWork {
public:
  /// Runs `fill`, counts its time, and returns its result.
  template <class Fill>
  auto time(const Fill& fill) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = fill();
    nanoseconds_ += (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds{1};
    ++batches_;
    return result;
  }

  std::int64_t batches() const { return batches_; }
  double seconds() const { return 1e-9 * static_cast<double>(nanoseconds_.load()); }

private:
  std::atomic<std::int64_t> batches_ = 0, nanoseconds_ = 0;
};

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

/// The host's part of making batches: reads and augments samples on a node's loader streams, in
/// turn. Each producer has its own loader; they share the streams.
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

/// Fills micro-batches for one rank and one pass mode. Used only by the DATA LOADER. Has memory for
/// `slots` micro-batches; the caller chooses the slot.
class BatchProducer {
public:
  explicit BatchProducer(std::shared_ptr<const data::BatchAssembler> assembler)
      : assembler_{std::move(assembler)} {}
  virtual ~BatchProducer() = default;

  /// Chooses the samples of its batches.
  const data::DistributedSampler& sampler() const { return assembler_->sampler(); }
  virtual std::int32_t slots() const = 0;
  /// Enqueues; never blocks. Returns the micro-batch that is being filled, without pass mode and
  /// index. Precondition: nothing reads the slot.
  MicroBatch fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                  const LoadFailed& failed);

protected:
  const std::shared_ptr<const data::BatchAssembler>& assembler() const { return assembler_; }

private:
  virtual const BatchView& view(std::int32_t slot) const = 0;
  /// Returns the event after which the slot may be read.
  virtual EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                           const LoadFailed& failed) = 0;

  std::shared_ptr<const data::BatchAssembler> assembler_;
};

/// Makes batches for the host device: host streams read, augment and write them.
class HostProducer final : public BatchProducer {
public:
  HostProducer(std::shared_ptr<const data::BatchAssembler> assembler,
               std::vector<data::BatchBuffer> buffers, HostLoader host)
      : BatchProducer{std::move(assembler)}, buffers_{std::move(buffers)}, host_{std::move(host)} {}

  std::int32_t slots() const override { return static_cast<std::int32_t>(buffers_.size()); }

private:
  const BatchView& view(std::int32_t slot) const override { return buffer(slot).view; }
  EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                   const LoadFailed& failed) override;
  const data::BatchBuffer& buffer(std::int32_t slot) const {
    return buffers_[static_cast<std::size_t>(slot)];
  }

  std::vector<data::BatchBuffer> buffers_;
  HostLoader host_;
};

} // namespace troupe::training
