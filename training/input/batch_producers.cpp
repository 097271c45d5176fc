#include "training/input/batch_producers.hpp"

#include "core/fail.hpp"

namespace troupe::training {

namespace {

/// Test batches in flight: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

} // namespace

Result<BatchProducers> ProducerFactory::make(int rank, const CompiledWorker& compiled) {
  ProducerOptions options{.assembler = setup_.training,
                          .rank = rank,
                          .slice = {0, setup_.slice_assignment.slices()},
                          .slots = setup_.prefetch,
                          .format = compiled.input,
                          .host_streams = host_streams_,
                          .streams = &streams_,
                          .trace = trace_};
  BatchProducers producers;
  TROUPE_TRY(producers.training, devices_.make_producer(compiled.worker, options));
  if (!setup_.evaluation)
    return producers;
  options.assembler = setup_.evaluation;
  options.slice = {0, setup_.slice_assignment.world_size()};
  options.slots = evaluation_slots;
  TROUPE_TRY(producers.evaluation, devices_.make_producer(compiled.worker, std::move(options)));
  return producers;
}

} // namespace troupe::training
