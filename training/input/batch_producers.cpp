#include "training/input/batch_producers.hpp"

#include "core/fail.hpp"

namespace troupe::training {

namespace {

/// Batches of the test set under way: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

} // namespace

Result<BatchProducers> ProducerFactory::make(int rank, const CompiledWorker& compiled) {
  ProducerOptions options{.assembler = feed_.training,
                          .rank = rank,
                          .slice = {0, feed_.slice_assignment.slices()},
                          .slots = feed_.prefetch,
                          .format = compiled.input,
                          .host_streams = host_streams_,
                          .streams = &streams_,
                          .trace = trace_};
  BatchProducers producers;
  TROUPE_TRY(producers.training, devices_.make_producer(compiled.worker, options));
  if (!feed_.evaluation)
    return producers;
  options.assembler = feed_.evaluation;
  options.slice = {0, feed_.slice_assignment.world_size()};
  options.slots = evaluation_slots;
  TROUPE_TRY(producers.evaluation, devices_.make_producer(compiled.worker, std::move(options)));
  return producers;
}

} // namespace troupe::training
