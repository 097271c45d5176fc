#include "fillers.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::engine {

namespace {

/// Batches of the test set under way: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

} // namespace

Result<Fillers> FillerMaker::make(int rank, const Equipment& equipment) {
  FillerOptions options{.assembler = feed_.training,
                        .slice = {rank, feed_.world_size, 0, feed_.accumulate},
                        .slots = feed_.prefetch,
                        .format = equipment.input,
                        .host_streams = host_streams_,
                        .streams = &streams_,
                        .trace = trace_};
  Fillers fillers;
  auto training = devices_.make_filler(equipment.worker, options);
  if (!training)
    return failure(training.error());
  fillers.training = std::move(*training);
  if (!feed_.evaluation)
    return fillers;
  options.assembler = feed_.evaluation;
  options.slice = {rank, feed_.world_size, 0, 1};
  options.slots = evaluation_slots;
  auto evaluation = devices_.make_filler(equipment.worker, std::move(options));
  if (!evaluation)
    return failure(evaluation.error());
  fillers.evaluation = std::move(*evaluation);
  return fillers;
}

} // namespace troupe::engine
