#include "training/input/batch_producers.hpp"

#include "core/fail.hpp"

namespace troupe::training {

namespace {

/// Test batches in flight: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

} // namespace

Result<BatchProducers> make_producers(PlatformDevices& devices, const CompiledWorker& compiled,
                                      ProducerOptions options,
                                      std::shared_ptr<const data::BatchAssembler> evaluation,
                                      int world_size) {
  options.format = compiled.input;
  BatchProducers producers;
  TROUPE_TRY(producers[index_of(PassMode::training)],
             devices.make_producer(compiled.worker, options));
  if (!evaluation)
    return producers;
  options.assembler = std::move(evaluation);
  options.slice = {0, world_size};
  options.slots = evaluation_slots;
  TROUPE_TRY(producers[index_of(PassMode::evaluation)],
             devices.make_producer(compiled.worker, std::move(options)));
  return producers;
}

} // namespace troupe::training
