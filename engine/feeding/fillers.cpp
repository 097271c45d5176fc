#include "engine/feeding/fillers.hpp"

#include "core/fail.hpp"

namespace troupe::engine {

namespace {

/// Batches of the test set under way: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

} // namespace

Result<Fillers> FillerMaker::make(int rank, const Equipment& equipment) {
  FillerOptions options{.assembler = feed_.training,
                        .rank = rank,
                        .slice = {0, feed_.dealing.slices()},
                        .slots = feed_.prefetch,
                        .format = equipment.input,
                        .host_streams = host_streams_,
                        .streams = &streams_,
                        .trace = trace_};
  Fillers fillers;
  TROUPE_TRY(fillers.training, devices_.make_filler(equipment.worker, options));
  if (!feed_.evaluation)
    return fillers;
  options.assembler = feed_.evaluation;
  options.slice = {0, feed_.dealing.world_size()};
  options.slots = evaluation_slots;
  TROUPE_TRY(fillers.evaluation, devices_.make_filler(equipment.worker, std::move(options)));
  return fillers;
}

} // namespace troupe::engine
