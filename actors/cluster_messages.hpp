/// Messages between daemons about the start, the nodes and the end of a job.
#pragma once

#include "training/node_assignment.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::actors {

/// The state that a daemon can resume from.
struct StateOffer {
  std::int64_t step = -1; ///< the state after this many steps; below 0: it has none
  bool travels = false;   ///< it is sent to other nodes; otherwise they read it from the folder, or
                          ///< draw it from the seed
  training::SharedFolder shared = {};
  std::vector<training::RetainedShards> parts = {}; ///< its shards of a divided state

  auto fields() { return std::tie(step, travels, shared, parts); }
};

/// A daemon that requests to take part.
struct NodeInfo {
  std::string address;      ///< HOST:PORT where others reach it; its name in errors
  std::string data;         ///< HOST:PORT where others' ranks connect (collectives/data_plane/)
  std::string host;         ///< host name
  std::string version;      ///< of the program
  std::string process;      ///< unique id of the process (training::Voter)
  std::int32_t workers = 1; ///< 0: a witness, which has a vote and trains nothing
  /// Config keys that must be equal on all nodes of a job, with their values as in a config file.
  std::map<std::string, std::string> job;
  StateOffer offer = {};
  std::int64_t generation = 0; ///< last generation, of any job, in which it had an assignment
  /// How much longer it waits for an assignment, unless it is a spare; 0: as long as the job lasts.
  std::int64_t time_left_ms = 0;
  training::TrainingData training = {};
  std::int64_t attempt = 0; ///< number of the join request in its process; never repeated
  /// It has led, and another node has since taken over the run's folder.
  bool has_lost_folder = false;

  auto fields() {
    return std::tie(address, data, host, version, process, workers, job, offer, generation,
                    time_left_ms, training, attempt, has_lost_folder);
  }
};

/// A failure between ranks, as COORDINATOR reports it.
struct SharedFailure {
  Error error;
  std::vector<std::string> behind = {}; ///< nodes that the others were waiting for; empty: unknown

  auto fields() { return std::tie(error, behind); }
};

/// Why COORDINATOR ends a job that a person stops.
inline Error asked_to_stop() {
  return {Errc::stopped, "asked to stop"};
}

using training::failed_end;
using training::JobEnd;

} // namespace troupe::actors
