// Throughput of collectives: this project's backends and Gloo's own collectives, over loopback TCP
// between threads of this process. A rate is the bytes of the whole buffer divided by the time
// until the last rank has its result. It is the median of the repeats, in which the contenders take
// turns.
//
//   bench_collectives [MiB [repeats]]
#include "collectives/data_plane/data_plane.hpp"
#include "collectives/shared_device/shared_communicator.hpp"
#include "collectives/tcp/tcp_communicator.hpp"
#include "cpu/host_stream.hpp"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace troupe;
using collectives::CallKind;
using Clock = std::chrono::steady_clock;

struct Rank {
  std::vector<float> all;
  std::size_t part = 0; ///< elements per rank
  std::unique_ptr<cpu::HostStream> stream;
};

/// An implementation of a collective: enqueues rank r's part.
using Contender = std::function<void(int r, Rank& rank)>;

/// Calls fn(rank) for all ranks at the same time, because they wait for each other.
template <class Fn>
void at_once(int world, Fn fn) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(world));
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back(fn, rank);
  for (auto& thread : threads)
    thread.join();
}

using Group = std::vector<std::unique_ptr<collectives::Communicator>>;

Group connect_by_tcp(int world) {
  std::vector<std::shared_ptr<collectives::DataPlane>> planes;
  std::vector<Endpoint> endpoints;
  for (int rank = 0; rank < world; ++rank) {
    planes.push_back(*collectives::DataPlane::open(
        {.listen = {"127.0.0.1", 0}, .handshake = std::chrono::seconds{10}}));
    endpoints.push_back({"127.0.0.1", planes.back()->port()});
  }
  Group group(static_cast<std::size_t>(world));
  at_once(world, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    group[r] = collectives::connect_tcp({.member = rank, .endpoints = endpoints, .group = "bench"},
                                        planes[r]->join_group(1, "secret"))
                   .value();
  });
  return group;
}

Contender ours(const Group& group, CallKind kind) {
  return [&group, kind](int r, Rank& rank) {
    auto& communicator = *group[static_cast<std::size_t>(r)];
    float* const mine = rank.all.data() + static_cast<std::size_t>(r) * rank.part;
    if (kind == CallKind::all_reduce)
      communicator.all_reduce(*rank.stream, {rank.all.data(), rank.all.size()});
    else if (kind == CallKind::reduce_scatter)
      communicator.reduce_scatter(*rank.stream, rank.all.data(), {mine, rank.part});
    else
      communicator.all_gather(*rank.stream, {mine, rank.part}, rank.all.data());
  };
}

using GlooContexts = std::vector<std::shared_ptr<gloo::rendezvous::Context>>;

GlooContexts connect_library(int world) {
  GlooContexts contexts(static_cast<std::size_t>(world));
  gloo::rendezvous::HashStore store;
  at_once(world, [&](int rank) {
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, world);
    context->connectFullMesh(store, device);
    contexts[static_cast<std::size_t>(rank)] = std::move(context);
  });
  return contexts;
}

void all_reduce(const std::shared_ptr<gloo::Context>& context, Rank& rank) {
  gloo::AllreduceOptions options{context};
  options.setOutput(rank.all.data(), rank.all.size());
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

void all_gather(const std::shared_ptr<gloo::Context>& context, int r, Rank& rank) {
  gloo::AllgatherOptions options{context};
  options.setInput(rank.all.data() + static_cast<std::size_t>(r) * rank.part, rank.part);
  options.setOutput(rank.all.data(), rank.all.size());
  gloo::allgather(options);
}

/// The library's reduce-scatter binds its buffers, so it is created once, as the library intends.
using Scatter = gloo::ReduceScatterHalvingDoubling<float>;

Contender library(const GlooContexts& contexts, CallKind kind, std::vector<Rank>& ranks) {
  auto scatters = std::make_shared<std::vector<std::unique_ptr<Scatter>>>(ranks.size());
  if (kind == CallKind::reduce_scatter)
    at_once(static_cast<int>(ranks.size()), [&](int r) {
      auto& rank = ranks[static_cast<std::size_t>(r)];
      const std::vector<int> parts(ranks.size(), static_cast<int>(rank.part));
      (*scatters)[static_cast<std::size_t>(r)] = std::make_unique<Scatter>(
          contexts[static_cast<std::size_t>(r)], std::vector<float*>{rank.all.data()},
          static_cast<int>(rank.all.size()), parts);
    });
  return [&contexts, kind, scatters](int r, Rank& rank) {
    const auto index = static_cast<std::size_t>(r);
    rank.stream->enqueue([&context = contexts[index], kind, scatters, index, r, &rank]() -> Status {
      if (kind == CallKind::all_reduce)
        all_reduce(context, rank);
      else if (kind == CallKind::reduce_scatter)
        (*scatters)[index]->run();
      else
        all_gather(context, r, rank);
      return {};
    });
  };
}

double seconds(const Contender& contender, std::vector<Rank>& ranks) {
  const auto begin = Clock::now();
  for (std::size_t r = 0; r < ranks.size(); ++r)
    contender(static_cast<int>(r), ranks[r]);
  for (auto& rank : ranks)
    if (const auto status = rank.stream->synchronize(); !status)
      fmt::print(stderr, "{}\n", status.error().to_string());
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void measure(int world, std::size_t bytes, int repeats) {
  const auto count = static_cast<std::size_t>(world), part = bytes / sizeof(float) / count;
  std::vector<Rank> ranks(count);
  for (auto& rank : ranks)
    rank = {std::vector<float>(part * count), part,
            std::make_unique<cpu::HostStream>(StreamOptions{.name = "communication"})};
  const auto shared = collectives::make_shared_group(world, std::chrono::seconds{60});
  const auto by_tcp = connect_by_tcp(world);
  const auto contexts = connect_library(world);
  for (const auto kind : {CallKind::all_reduce, CallKind::reduce_scatter, CallKind::all_gather}) {
    const std::vector<Contender> contenders = {ours(shared, kind), ours(by_tcp, kind),
                                               library(contexts, kind, ranks)};
    std::vector<std::vector<double>> times(contenders.size());
    for (int i = -1; i < repeats; ++i) // one warm-up
      for (std::size_t c = 0; c < contenders.size(); ++c)
        if (const double time = seconds(contenders[c], ranks); i >= 0)
          times[c].push_back(time);
    const auto rate = [&](std::size_t c) { return static_cast<double>(bytes) / median(times[c]); };
    fmt::print("{:<15} {:>5} {:>14.2f} {:>9.2f} {:>14.2f} {:>16.2f}\n", to_string(kind), world,
               1e-9 * rate(0), 1e-9 * rate(1), 1e-9 * rate(2), rate(1) / rate(2));
  }
}

template <class Connect>
double milliseconds_to_form(const Connect& connect, int world) {
  const auto begin = Clock::now();
  const auto group = connect(world);
  return 1e3 * std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure_forming(int world, int repeats) {
  std::vector<double> by_tcp, by_library;
  for (int i = 0; i < repeats; ++i) {
    by_tcp.push_back(milliseconds_to_form(connect_by_tcp, world));
    by_library.push_back(milliseconds_to_form(connect_library, world));
  }
  fmt::print("{:<15} {:>5} {:>24.1f} {:>14.1f}\n", "connecting, ms", world, median(by_tcp),
             median(by_library));
}

} // namespace

int main(int argc, char** argv) {
  const auto mebibytes = argc > 1 ? std::atoll(argv[1]) : 16;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 11;
  fmt::print("{} MiB of f32, GB/s\n{:<15} {:>5} {:>14} {:>9} {:>14} {:>16}\n", mebibytes,
             "collective", "ranks", "shared_device", "tcp", "Gloo", "tcp/Gloo");
  for (const int world : {2, 3, 4})
    measure(world, static_cast<std::size_t>(mebibytes) << 20, repeats);
  for (const int world : {4, 16})
    measure_forming(world, repeats);
}
