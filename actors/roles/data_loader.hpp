/// DATA LOADER: fills buffers ahead of the workers, as many as it has credits for.
#pragma once

#include "actors/interfaces.hpp"
#include "training/rank_state.hpp"

#include <memory>
#include <vector>

namespace troupe::actors {

struct DataLoaderSetup {
  std::vector<std::shared_ptr<training::RankState>> rank_states; ///< of this node
  data::SliceAssignment slice_assignment = {};                   ///< of training
  std::int64_t steps = 0;                                        ///< of the whole job
  coordinator_actor coordinator;
  metrics::Track row = {}; ///< of the actor in the timeline
};

class DataLoaderState {
public:
  static inline const char* name = "data_loader";

  DataLoaderState(data_loader_actor::pointer self, DataLoaderSetup setup);
  data_loader_actor::behavior_type make_behavior();

private:
  /// The progress of one worker in one pass mode.
  struct WorkerSupply {
    std::vector<std::int32_t> free; ///< credits: buffer slots that may be filled
    std::int64_t next = 0, end = 0; ///< passes, or batches of the test set
  };
  struct Client {
    worker_actor worker;
    data::SliceAssignment slice_assignment;
    WorkerSupply supplies[2]; ///< by pass mode
  };

  Client& client(std::int32_t rank);
  const data::SliceAssignment& slice_assignment(std::int32_t rank) {
    return client(rank).slice_assignment;
  }
  data::Slice slice(std::int32_t rank, PassMode pass_mode, std::int64_t index);
  void begin(std::int32_t rank, const worker_actor& worker, Pass first);
  void assign(std::int32_t rank, const data::SliceAssignment& next);
  void fill(std::int32_t rank, PassMode pass_mode);
  bool is_empty(std::int32_t rank, PassMode pass_mode, std::int64_t index);
  training::BatchProducer& producer(std::int32_t rank, PassMode pass_mode) const;
  MicroBatchPtr fill_one(std::int32_t rank, PassMode pass_mode, std::int32_t slot,
                         std::int64_t index);
  /// `step`: the training step; below 0: not a training step.
  training::LoadFailed failure_report(std::int32_t rank, std::int64_t step) const;

  data_loader_actor::pointer self_;
  DataLoaderSetup setup_;
  std::vector<Client> clients_; ///< in the order of setup_.rank_states
};

} // namespace troupe::actors
