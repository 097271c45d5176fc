/// Creates the batch producers of a rank.
#pragma once

#include "training/compiled_job.hpp"

#include <array>
#include <memory>

namespace troupe::training {

/// The producers of one rank, by pass mode. The one of evaluation is null if the job never
/// evaluates.
using BatchProducers = std::array<std::shared_ptr<BatchProducer>, 2>;

/// Creates a rank's producers on its device, in the input format of its executables. `options`:
/// those of training. `evaluation`: for `world_size` ranks; null: the job never evaluates. Errors:
/// out_of_memory; unsupported for a residency that the data set does not allow.
Result<BatchProducers> make_producers(PlatformDevices& devices, const CompiledWorker& compiled,
                                      ProducerOptions options,
                                      std::shared_ptr<const data::BatchAssembler> evaluation,
                                      int world_size);

} // namespace troupe::training
