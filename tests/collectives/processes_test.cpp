// Tests ranks in separate processes, one of which is killed during a collective.
#include "collectives/tcp/tcp_communicator.hpp"
#include "core/atomic_file.hpp"
#include "core/net/socket.hpp"
#include "cpu/host_stream.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <thread>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;
using collectives::ChannelOptions;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

constexpr int ranks = 3;

/// Publishes this process's port in `folder` and waits for the ports of all processes.
std::vector<Endpoint> all_endpoints(const std::filesystem::path& folder, int rank, int port) {
  REQUIRE(write_file_atomically(folder / std::to_string(rank), std::to_string(port)));
  std::vector<Endpoint> endpoints;
  for (int other = 0; other < ranks; ++other) {
    const auto file = folder / std::to_string(other);
    while (!std::filesystem::exists(file))
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    endpoints.push_back(*parse_endpoint("127.0.0.1:" + read_bytes(file)));
  }
  return endpoints;
}

/// Repeats all-reduces until one fails, at most `times`, and reports the first success. Returns the
/// error.
std::string reduce_for_ever(const ChannelOptions& options,
                            const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
                            int times, int output) {
  auto communicator = collectives::connect_tcp(options, connection_group);
  if (!communicator)
    return communicator.error().to_string();
  cpu::HostStream stream{{.name = "communication"}};
  std::vector<float> values(200000);
  for (int i = 0; i < times; ++i) {
    values.assign(values.size(), static_cast<float>(options.member + 1));
    (*communicator)->all_reduce(stream, {values.data(), values.size()});
    if (const auto status = stream.synchronize(); !status)
      return status.error().to_string();
    const auto world = static_cast<float>(options.size()), sum = world * (world + 1) / 2;
    if (values.front() != sum || values.back() != sum)
      return "a wrong sum";
    if (i == 0)
      write_text(output, "began\n");
  }
  return "no error";
}

/// Takes part in a group of three ranks until one is killed, then in a group of two.
void take_part(const std::filesystem::path& folder, int rank, int output) {
  const auto plane = *collectives::DataPlane::open({.listen = {"127.0.0.1", 0}, .handshake = 10s});
  auto endpoints = all_endpoints(folder, rank, plane->port());
  const auto error = reduce_for_ever({.member = rank, .endpoints = endpoints, .group = "all"},
                                     plane->join_group(1, "first"), 1000000, output);
  write_text(output, error + "\n");
  endpoints.erase(endpoints.begin() + 1);
  const ChannelOptions survivors{
      .member = rank == 0 ? 0 : 1, .endpoints = endpoints, .group = "all"};
  const auto then = reduce_for_ever(survivors, plane->join_group(2, "second"), 5, output);
  write_text(output, "then " + then + "\n");
}

} // namespace

TEST_CASE("a process that is killed fails the others, which continue without it") {
  const ScratchFolder folder;
  std::deque<ChildProcess> processes;
  for (int rank = 0; rank < ranks; ++rank)
    processes.emplace_back([&, rank](int output) { take_part(folder.path(), rank, output); });
  for (const auto& process : processes)
    REQUIRE(process.wait_for_first_output(60000));
  const auto begin = steady_clock::now();
  processes[1].kill();
  for (const std::size_t survivor : {0u, 2u}) {
    const auto text = processes[survivor].wait_for_output();
    INFO(text);
    CHECK(text.find("collective: all_reduce #") != std::string::npos);
    CHECK(text.find("rank ") != std::string::npos);
    CHECK(text.find("then no error") != std::string::npos);
  }
  CHECK(steady_clock::now() - begin < std::chrono::seconds{25}); // the timeout is 30 s
}

TEST_CASE("a process without free file descriptors accepts ranks again once it has some") {
  const ScratchFolder folder;
  const collectives::LinkName link{.group = "all", .from = 0, .to = 1};
  ChildProcess limited{[&](int output) {
    const auto plane =
        *collectives::DataPlane::open({.listen = {"127.0.0.1", 0}, .handshake = 30s});
    const auto next = static_cast<rlim_t>(::dup(output)), most = next + 8;
    ::close(static_cast<int>(next));
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto written = write_file_atomically(folder / "port", std::to_string(plane->port()));
    const auto taken = plane->join_group(1, "a secret")->accept(link, 30s);
    write_text(output, written && taken ? "taken" : taken.error().message);
  }};
  while (!std::filesystem::exists(folder / "port"))
    std::this_thread::sleep_for(1ms);
  const auto endpoint = *parse_endpoint("127.0.0.1:" + read_bytes(folder / "port"));
  std::vector<net::Descriptor> strangers;
  for (int i = 0; i < 40; ++i)
    strangers.push_back(std::move(net::connect_to(endpoint, 30s).value()));
  testing::Loopback others{1};
  const auto connected = others.join_group(0)->connect(endpoint, link, 30s);
  CHECK(connected);
  CHECK_FALSE(
      limited.wait_for_first_output(300)); // its connection waits until the strangers are gone
  strangers.clear();
  CHECK(limited.wait_for_output() == "taken");
}
