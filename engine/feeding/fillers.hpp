/// Makes what fills a rank's micro-batches, for its device and data.residency.
#pragma once

#include "../host.hpp"
#include "batch_filler.hpp"

#include "troupe/core/config/forward.hpp"
#include "troupe/nn/passes/format_input.hpp"

#ifdef TROUPE_HAS_CUDA
#include "copy_filler.hpp"
#include "device_filler.hpp"
#endif

#include <memory>
#include <vector>

namespace troupe::engine {

/// What the loader of a device would like to write: images as f32 with the data's channels on the
/// host; on a CUDA device, when all images have one size, the compute type, with channels padded as
/// its convolutions like them. What it writes is what the model takes (Equipment::input).
nn::InputFormat preferred_input(const Config& config, bool one_size);

/// Of one rank: made before the actors. Evaluation's is null when it never happens.
struct Fillers {
  std::shared_ptr<BatchFiller> training, evaluation;
};

/// What fillers fill from, and for whom.
struct Feed {
  std::shared_ptr<const data::BatchAssembler> training;
  std::shared_ptr<const data::BatchAssembler> evaluation; ///< null: never
  int world_size = 1;
  int accumulate = 1;
};

/// Makes those of all ranks of a node. Streams that they need beyond the node's host streams are
/// added to `streams`, which must be drained before the devices go.
class FillerFactory {
public:
  FillerFactory(const Config& config, Feed feed, std::vector<LoaderStream>& streams,
                metrics::Trace trace)
      : config_{config}, feed_{std::move(feed)},
        host_streams_{streams}, streams_{streams}, trace_{std::move(trace)} {}

  /// Errors: out_of_memory; unsupported for a residency that the data set does not allow.
  Result<Fillers> make(int rank, Equipment& equipment);

private:
  using Assembler = std::shared_ptr<const data::BatchAssembler>;
  Result<std::shared_ptr<BatchFiller>> filler(const Assembler& assembler, const data::Slice& slice,
                                              std::int64_t slots, Equipment& equipment);
#ifdef TROUPE_HAS_CUDA
  Result<std::shared_ptr<BatchFiller>> on_cuda(const Assembler& assembler, const data::Slice& slice,
                                               std::int64_t slots, Equipment& equipment);
  /// Null when pixels stay on the host.
  Result<std::shared_ptr<const ResidentDataset>> resident_copy(Equipment& equipment,
                                                               const data::Dataset& dataset) const;
#endif
  Result<std::shared_ptr<BatchFiller>> on_host(const Assembler& assembler, const data::Slice& slice,
                                               std::int64_t slots, Device& device);

  const Config& config_;
  Feed feed_;
  std::vector<LoaderStream> host_streams_;
  std::vector<LoaderStream>& streams_;
  metrics::Trace trace_;
};

} // namespace troupe::engine
