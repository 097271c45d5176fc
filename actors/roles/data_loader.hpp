/// DATA LOADER: fills buffers ahead of the workers, as many as it has credits for.
#pragma once

#include "actors/interfaces.hpp"
#include "training/rank_state.hpp"

#include <memory>
#include <vector>

namespace troupe::actors {

struct DataLoaderSetup {
  std::vector<std::shared_ptr<training::RankState>> rank_states; ///< of this node
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
    std::shared_ptr<training::RankState> rank_state;
    // Set by `begin`, which its worker sends before all other messages.
    worker_actor worker = {};
    data::SliceAssignment slice_assignment = {}; ///< of training
    WorkerSupply supplies[2] = {};               ///< by pass mode
  };

  Client& client(std::int32_t rank);
  /// Fills passes, or batches of the test set, from `first` to the one before `end`.
  void fill(Client& client, PassMode pass_mode, std::int64_t first, std::int64_t end);
  void fill(Client& client, PassMode pass_mode);
  MicroBatchPtr fill_one(const Client& client, PassMode pass_mode, std::int32_t slot,
                         std::int64_t index, const data::Slice& slice) const;

  data_loader_actor::pointer self_;
  DataLoaderSetup setup_;
  std::vector<Client> clients_; ///< in the order of setup_.rank_states
};

} // namespace troupe::actors
