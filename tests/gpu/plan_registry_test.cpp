// Tests the plan registry of a device: plans are searched once and compared by time, and plans and
// refusals are stored on disk.
#include "core/fail.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/libraries.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "gpu/lowering/weight_gradient.hpp"
#include "nn/compile.hpp"
#include "tests/devices/networks.hpp"
#include "tests/devices/test_device.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <shared_mutex>
#include <thread>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using troupe::testing::ScratchFolder;

namespace {

/// A separate plan registry for a device, and the lines that it logged.
struct EmulatedCudnn {
  EmulatedCudnn() : device{device_or_skip()} {
    nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                           .precision = Precision::amp_fp16,
                           .input = {DType::f16, 4}};
    auto ready =
        nn::run_passes(bottleneck_network({2, 16, 16, 3}, 64), nn::PassMode::training, passes);
    REQUIRE(ready);
    graph = std::move(ready->graph);
  }

  gpu::CudaDevice& cuda() const { return static_cast<gpu::CudaDevice&>(*device); }

  std::unique_ptr<gpu::PlanRegistry> open(unsigned threads = 4) {
    said.clear();
    auto registry = gpu::PlanRegistry::open(
        cuda(),
        {folder.path(), [this](const std::string& line) { said.push_back(line); }, threads});
    if (!registry)
      FAIL(registry.error().to_string());
    return std::move(*registry);
  }

  std::vector<gpu::cudnn::OperationGraph> all() const {
    std::vector<gpu::cudnn::OperationGraph> graphs;
    for (const auto& node : graph.nodes)
      std::ranges::copy(gpu::convolution_graphs(graph, node), std::back_inserter(graphs));
    return graphs;
  }

  /// Searches a plan while this thread holds the lock of searches. Checks that the search does not
  /// end meanwhile, in twice the time that it needs, and that it ends afterwards.
  template <class Lock>
  void check_search_waits_for() {
    using Clock = std::chrono::steady_clock;
    const auto library = gpu::open_cudnn(gpu::library_places_of_process());
    REQUIRE(library);
    const auto searcher = gpu::PlanSearcher::open(*library, cuda());
    REQUIRE(searcher);
    std::shared_mutex loading;
    const auto search = [&, searched = all().front()] {
      return (*searcher)->choose(searched, policy, nullptr, loading).has_value();
    };
    REQUIRE(search()); // also loads kernels, which takes longer than later searches
    const auto begin = Clock::now();
    REQUIRE(search());
    const auto time = Clock::now() - begin;
    Lock lock{loading};
    auto found = std::async(std::launch::async, search);
    CHECK(found.wait_for(2 * time + std::chrono::milliseconds{500}) == std::future_status::timeout);
    lock.unlock();
    CHECK(found.get());
  }

  const Node& weight_gradient_node() const {
    const auto last = std::ranges::find(graph.nodes, Op::conv2d_backward_weight, &Node::op);
    REQUIRE(last != graph.nodes.end());
    return *last;
  }

  /// Writes this time for the graph's plan to the cache, as if it had been measured on this device.
  void pretend(const gpu::cudnn::OperationGraph& of, double microseconds) const {
    std::size_t changed = 0;
    for (const auto& file : std::filesystem::directory_iterator{folder.path()}) {
      auto entry = nlohmann::json::parse(std::ifstream{file.path()});
      if (!entry.at("key").get<std::string>().ends_with(" | " + of.canonical_text()))
        continue;
      entry["microseconds"] = microseconds;
      std::ofstream{file.path()} << entry.dump();
      ++changed;
    }
    CHECK(changed == 1);
  }

  std::ptrdiff_t count(const std::string& words) const {
    return std::ranges::count_if(
        said, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }

  std::unique_ptr<Device> device;
  ScratchFolder folder;
  Graph graph;
  gpu::cudnn::PlanPolicy policy = gpu::policy_of({});
  std::vector<std::string> said;
};

std::string told(const Result<gpu::TimedPlan>& plan) {
  return plan ? plan->plan->tag() : plan.error().message;
}

/// A pattern that no engine accepts: statistics of a convolution in f32.
gpu::cudnn::OperationGraph refused_graph() {
  return gpu::cudnn::normalized_convolution_statistics(
      {2, 16, 16, 64, 64, 3, 1, 1, CUDNN_DATA_FLOAT});
}

} // namespace

TEST_CASE_METHOD(EmulatedCudnn, "a device has one plan registry, which its executables share") {
  const auto first = cuda().plans(), second = cuda().plans();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first == *second);
  const auto one = (*first)->plan(all().front(), policy),
             two = (*first)->plan(all().front(), policy);
  REQUIRE(one);
  CHECK(one->plan == two->plan);
}

TEST_CASE_METHOD(EmulatedCudnn,
                 "a search is one log line with seconds, candidates, compiled, engine and time") {
  const auto registry = open();
  const auto plan = registry->plan(all().front(), policy);
  REQUIRE(plan);
  CHECK(count("not measured") == 0);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said.front(), ContainsSubstring(all().front().name) &&
                               ContainsSubstring(plan->plan->tag()) && ContainsSubstring(" us (") &&
                               ContainsSubstring(" candidates, ") &&
                               ContainsSubstring(" compiled)"));
  REQUIRE(registry->plan(all().front(), policy));
  CHECK(said.size() == 1);
}

// Finalizing a plan may load a kernel, which delays the launches of a measured plan.
TEST_CASE_METHOD(EmulatedCudnn, "no plan is measured while another thread finalizes one") {
  check_search_waits_for<std::shared_lock<std::shared_mutex>>();
}

TEST_CASE_METHOD(EmulatedCudnn, "no plan is finalized while another thread measures one") {
  policy.deterministic = true; // finalizes without measuring
  check_search_waits_for<std::unique_lock<std::shared_mutex>>();
}

TEST_CASE_METHOD(EmulatedCudnn, "a candidate that does not launch leaves no error") {
  const auto registry = open();
  REQUIRE(registry->plan(all().front(), policy));
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE_METHOD(EmulatedCudnn, "several threads find the same plans as one, each of them once") {
  // Uses the first plan that heuristics propose, because measurements may differ.
  policy.deterministic = true;
  const auto graphs = all();
  std::vector<std::string> tags[2];
  for (const unsigned threads : {1u, 4u}) {
    std::filesystem::remove_all(folder.path());
    const auto registry = open(threads);
    registry->prepare(graphs, policy);
    const auto searched = said.size();
    for (const auto& one : graphs)
      tags[threads == 1 ? 0 : 1].push_back(told(registry->plan(one, policy)));
    CHECK(said.size() == searched);
  }
  CHECK(tags[0] == tags[1]);
}

TEST_CASE_METHOD(EmulatedCudnn,
                 "nothing is compiled at run time if an engine has a precompiled kernel") {
  const auto registry = open();
  const auto& node = weight_gradient_node();
  const auto narrow = registry->plan(gpu::backward_weight_graph(graph, node, DType::f16), policy);
  REQUIRE(narrow);
  CHECK_FALSE(narrow->plan->compiled());
  CHECK(count("0 compiled") == 1);
  const auto wide = registry->plan(gpu::backward_weight_graph(graph, node), policy);
  if (wide) // cuDNN 9 has only a general engine for it
    CHECK(wide->plan->compiled());
}

TEST_CASE_METHOD(EmulatedCudnn, "plans and refusals are read from disk, and not searched again") {
  auto graphs = all();
  graphs.push_back(refused_graph());
  std::vector<std::string> tags;
  {
    const auto registry = open();
    registry->prepare(graphs, policy);
    for (const auto& one : all())
      tags.push_back(told(registry->plan(one, policy)));
    CHECK(registry->plan(refused_graph(), policy).error().code == Errc::unsupported);
    CHECK(count("no plan for") > 0);
  }
  const auto registry = open();
  registry->prepare(graphs, policy);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said.front(), ContainsSubstring("plans were read from"));
  CHECK_THAT(registry->plan(refused_graph(), policy).error().message,
             ContainsSubstring("no plan for"));
  for (std::size_t i = 0; i < tags.size(); ++i)
    CHECK(told(registry->plan(all()[i], policy)) == tags[i]);
}

TEST_CASE_METHOD(EmulatedCudnn,
                 "a weight gradient is computed in the type that is faster including the cast") {
  const auto& node = weight_gradient_node();
  const auto wide = gpu::backward_weight_graph(graph, node),
             narrow = gpu::backward_weight_graph(graph, node, DType::f16);
  {
    const auto registry = open();
    registry->prepare({wide, narrow}, policy);
    if (!registry->plan(wide, policy))
      SKIP("no engine writes f32");
    pretend(narrow, 50);
    pretend(wide, 5000);
  }
  auto registry = open();
  auto way = gpu::weight_gradient(*registry, policy, graph, node);
  REQUIRE(way);
  CHECK(way->written == DType::f16);
  CHECK(way->microseconds > 50);
  CHECK(count("choice for") == 1);
  REQUIRE(gpu::weight_gradient(*registry, policy, graph, node));
  CHECK(count("choice for") == 1);

  pretend(wide, 50); // makes the cast unnecessary
  registry = open();
  way = gpu::weight_gradient(*registry, policy, graph, node);
  REQUIRE(way);
  CHECK(way->written == DType::f32);
  CHECK(way->microseconds == 50);
}

TEST_CASE_METHOD(EmulatedCudnn,
                 "in deterministic mode nothing is measured, and times on disk are ignored") {
  policy.deterministic = true;
  const auto& node = weight_gradient_node();
  const auto wide = gpu::backward_weight_graph(graph, node),
             narrow = gpu::backward_weight_graph(graph, node, DType::f16);
  auto registry = open();
  const auto first = registry->plan(narrow, policy);
  REQUIRE(first);
  CHECK(first->microseconds > 0);
  CHECK(count("not measured") == 1);
  const auto chosen = gpu::weight_gradient(*registry, policy, graph, node);
  REQUIRE(chosen);
  registry = open();
  const auto again = gpu::weight_gradient(*registry, policy, graph, node);
  REQUIRE(again);
  CHECK(again->written == chosen->written);
  CHECK(again->microseconds == chosen->microseconds);
}

// Libraries launch their own kernels through the driver API, which needs a current context.
TEST_CASE_METHOD(EmulatedCudnn, "a plan runs on a thread that has not used the device before") {
  const auto registry = open();
  const auto of = all().front();
  const auto plan = registry->plan(of, policy);
  REQUIRE(plan);
  std::vector<BufferPtr> memory;
  const auto take = [&](std::size_t bytes) -> void* {
    memory.push_back(
        device->allocate(std::max<std::size_t>(bytes, 1), MemoryKind::workspace).value());
    return memory.back()->data();
  };
  std::vector<gpu::cudnn::Binding> bindings;
  for (const auto& tensor : of.tensors)
    bindings.push_back({tensor.uid, take(static_cast<std::size_t>(tensor.dims[0] * tensor.dims[1] *
                                                                  tensor.dims[2] * tensor.dims[3]) *
                                         sizeof(float))});
  auto* const workspace = take(plan->plan->workspace_bytes());
  const auto stream = device->create_stream({.name = "compute"});
  std::thread{[&] {
    gpu::cuda_stream(*stream).enqueue("plan", [&](cudaStream_t raw) -> Status {
      TROUPE_TRY(plan->target->use_stream(raw));
      return plan->plan->execute(*plan->target, bindings, workspace);
    });
  }}.join();
  const auto status = stream->synchronize();
  INFO((status ? "" : status.error().to_string()));
  CHECK(status);
}
