/// Ranks on loopback, each with a separate data plane, as in separate processes.
#pragma once

#include "collectives/data_plane/data_plane.hpp"
#include "collectives/tcp/tcp_communicator.hpp"

#include <catch2/catch_test_macros.hpp>

#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

class Loopback {
public:
  explicit Loopback(int ranks, const TlsConfig& tls = {},
                    std::chrono::milliseconds handshake = std::chrono::seconds{10}) {
    for (int rank = 0; rank < ranks; ++rank) {
      auto plane = collectives::DataPlane::open(
          {.listen = {"127.0.0.1", 0}, .tls = tls, .handshake = handshake});
      REQUIRE(plane);
      endpoints.push_back({"127.0.0.1", (*plane)->port()});
      planes.push_back(*plane);
    }
  }

  std::shared_ptr<collectives::ConnectionGroup> join_group(int rank, std::int64_t generation = 1,
                                                           const std::string& secret = "a secret") {
    return planes[static_cast<std::size_t>(rank)]->join_group(generation, secret);
  }

  /// Connects all ranks in parallel, because each waits for the others.
  std::vector<Result<std::unique_ptr<collectives::Communicator>>>
  connect(std::chrono::milliseconds timeout) {
    std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
    for (int rank = 0; rank < static_cast<int>(planes.size()); ++rank)
      connecting.push_back(std::async(std::launch::async, [this, rank, timeout] {
        return collectives::connect_tcp(
            {.member = rank, .endpoints = endpoints, .group = "test", .timeout = timeout},
            join_group(rank));
      }));
    std::vector<Result<std::unique_ptr<collectives::Communicator>>> connected;
    for (auto& each : connecting)
      connected.push_back(each.get());
    return connected;
  }

  std::vector<Endpoint> endpoints;
  std::vector<std::shared_ptr<collectives::DataPlane>> planes;
};

} // namespace troupe::testing
