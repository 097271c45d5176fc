/// Creates the batch producers of a node's ranks.
#pragma once

#include "training/compiled_job.hpp"
#include "training/input/batch_producer.hpp"

#include <memory>
#include <vector>

namespace troupe::training {

/// The producers of one rank, created before the actors. `evaluation` is null if the job never
/// evaluates.
struct BatchProducers {
  std::shared_ptr<BatchProducer> training, evaluation;
};

/// Data sets and slice assignment of the producers.
struct InputSetup {
  std::shared_ptr<const data::BatchAssembler> training;
  std::shared_ptr<const data::BatchAssembler> evaluation; ///< null if the job never evaluates
  std::int64_t prefetch = 2;                              ///< training micro-batches in flight
  data::SliceAssignment slice_assignment = {};            ///< of training
};

/// Creates the producers of all ranks of a node. Streams that they need in addition to the node's
/// host streams are added to `streams`, which must be drained before the devices are destroyed.
class ProducerFactory {
public:
  ProducerFactory(PlatformDevices& devices, InputSetup setup, std::vector<LoaderStream>& streams,
                  metrics::Trace trace)
      : devices_{devices}, setup_{std::move(setup)},
        host_streams_{streams}, streams_{streams}, trace_{std::move(trace)} {}

  /// Errors: out_of_memory; unsupported for a residency that the data set does not allow.
  Result<BatchProducers> make(int rank, const CompiledWorker& compiled);

private:
  PlatformDevices& devices_;
  InputSetup setup_;
  std::vector<LoaderStream> host_streams_;
  std::vector<LoaderStream>& streams_;
  metrics::Trace trace_;
};

} // namespace troupe::training
