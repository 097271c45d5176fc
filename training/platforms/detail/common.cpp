#include "training/platforms/detail/common.hpp"

#include "core/config/config.hpp"
#include "training/platforms/platforms.hpp"

#include <future>
#include <vector>

namespace troupe::training {

EngineOptions common_options(const Config& config) {
  EngineOptions options;
  options.compile.deterministic = config.run.deterministic;
  options.compile.threads = threads_per_worker(config.devices);
  options.passes.fuse = nn::FusePatterns::all();
  // The kernels of every device read an element before they write it.
  options.passes.memory.also_in_place.push_back(Op::batch_norm_backward);
  return options;
}

Result<Communicators> connect_all(std::size_t ranks, const ConnectRank& connect) {
  std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
  for (std::size_t index = 0; index < ranks; ++index)
    connecting.push_back(std::async(std::launch::async, connect, index));
  Result<Communicators> connected;
  for (auto& each : connecting) {
    auto communicator = each.get();
    if (!communicator)
      connected = failure(std::move(communicator).error());
    else if (connected)
      connected->push_back(std::move(*communicator));
  }
  return connected;
}

} // namespace troupe::training
