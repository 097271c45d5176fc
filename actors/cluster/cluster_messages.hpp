/// What daemons tell each other, so that a job can begin and end on all of them.
#pragma once

#include "troupe/core/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// A daemon that wants to take part.
struct NodeInfo {
  std::string address; ///< HOST:PORT where others reach it; what errors call it
  std::string host;    ///< its name
  std::string version; ///< of the program
  std::int32_t workers = 1;
  /// Key to value, as in a config file: what all nodes of a job must agree on.
  std::map<std::string, std::string> job;

  template <class Inspector>
  friend bool inspect(Inspector& f, NodeInfo& x) {
    return f.object(x).fields(f.field("address", x.address), f.field("host", x.host),
                              f.field("version", x.version), f.field("workers", x.workers),
                              f.field("job", x.job));
  }
};

/// How a job ended, for the nodes that do not lead it.
struct JobEnd {
  std::string status; ///< completed, stopped, failed
  std::optional<Error> error;
  std::int64_t steps = 0, epochs = 0;
  double seconds = 0, samples_per_second = 0, loss = 0;
  std::optional<double> accuracy;
  std::string parameters_sha256;

  template <class Inspector>
  friend bool inspect(Inspector& f, JobEnd& x) {
    return f.object(x).fields(
        f.field("status", x.status), f.field("error", x.error), f.field("steps", x.steps),
        f.field("epochs", x.epochs), f.field("seconds", x.seconds),
        f.field("samples_per_second", x.samples_per_second), f.field("loss", x.loss),
        f.field("accuracy", x.accuracy), f.field("parameters_sha256", x.parameters_sha256));
  }
};

} // namespace troupe::actors
