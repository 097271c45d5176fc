/// What fills the micro-batches of the ranks of a node.
#pragma once

#include "training/compiled_job.hpp"
#include "training/input/batch_producer.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

/// The fillers of one rank, made before the actors. Evaluation's is null when it never happens.
struct BatchProducers {
  std::shared_ptr<BatchProducer> training, evaluation;
};

/// What fillers fill from, and for whom.
struct Feed {
  std::shared_ptr<const data::BatchAssembler> training;
  std::shared_ptr<const data::BatchAssembler> evaluation; ///< null: never
  std::int64_t prefetch = 2;                              ///< micro-batches of training under way
  data::SliceAssignment slice_assignment = {};            ///< of training
};

/// Makes those of all ranks of a node. Streams that they need beyond the node's host streams are
/// added to `streams`, which must be drained before the devices go.
class ProducerFactory {
public:
  ProducerFactory(PlatformDevices& devices, Feed feed, std::vector<LoaderStream>& streams,
                  metrics::Trace trace)
      : devices_{devices}, feed_{std::move(feed)},
        host_streams_{streams}, streams_{streams}, trace_{std::move(trace)} {}

  /// Errors: out_of_memory; unsupported for a residency that the data set does not allow.
  Result<BatchProducers> make(int rank, const CompiledWorker& compiled);

private:
  PlatformDevices& devices_;
  Feed feed_;
  std::vector<LoaderStream> host_streams_;
  std::vector<LoaderStream>& streams_;
  metrics::Trace trace_;
};

} // namespace troupe::training
