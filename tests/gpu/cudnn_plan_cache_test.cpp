#include "gpu/cudnn/chooser.hpp"
#include "gpu/cudnn/patterns.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace troupe;
using namespace troupe::gpu::cudnn;
using namespace troupe::testing;

TEST_CASE("a chosen plan is found again only for the same device, graph and policy") {
  const ScratchFolder folder;
  const auto target = testing::described_gpu("h200");
  const auto graph = convolution_forward(testing::small_problem());
  const PlanCache cache(folder / "plans");
  CHECK_FALSE(cache.find(target, graph, PlanPolicy{}));
  const auto chosen = choose_plan(target, graph, PlanPolicy{}, &cache);
  REQUIRE(chosen);
  const auto found = cache.find(target, graph, PlanPolicy{});
  REQUIRE(found);
  CHECK(found->plan.tag() == chosen->plan.tag());
  CHECK(found->plan.workspace_bytes() == chosen->plan.workspace_bytes());
  CHECK(found->microseconds < 0);

  const auto other = testing::described_gpu("a100_sxm");
  CHECK_FALSE(cache.find(other, graph, PlanPolicy{}));
  CHECK_FALSE(cache.find(target, convolution_forward(testing::small_problem(1)), PlanPolicy{}));
  PlanPolicy deterministic;
  deterministic.deterministic = true;
  CHECK_FALSE(cache.find(target, graph, deterministic));
}

TEST_CASE("damaged and foreign cache entries count as missing and are overwritten") {
  const ScratchFolder folder;
  const auto target = testing::described_gpu("h200");
  const auto graph = convolution_forward(testing::small_problem());
  const PlanCache cache(folder.path());
  REQUIRE(choose_plan(target, graph, PlanPolicy{}, &cache));
  const std::filesystem::directory_iterator entries(folder.path());
  const auto path = entries->path(); // the only entry
  const auto whole = read_bytes(path);
  REQUIRE(whole.size() > 100);

  auto changed = whole;
  changed[whole.find("\"plan\"") + 30] ^= 1;
  auto other_version = whole;
  other_version.replace(whole.find("\"version\": 2"), 12, "\"version\": 0");
  auto other_key = whole;
  other_key.replace(whole.find("NVIDIA H200"), 11, "NVIDIA H201");
  for (const auto& text : {std::string(), whole.substr(0, whole.size() / 2), changed, other_version,
                           other_key, std::string("{\"plan\": 3}"), std::string("[]")}) {
    write_bytes(path, text);
    CHECK_FALSE(cache.find(target, graph, PlanPolicy{}));
  }
  REQUIRE(choose_plan(target, graph, PlanPolicy{}, &cache));
  CHECK(cache.find(target, graph, PlanPolicy{}));
}

TEST_CASE("a missing plan is cached too, until a compiler for engines is added or removed") {
  const ScratchFolder folder;
  auto library = testing::cudnn_or_skip();
  const auto described = [&library] {
    return bench::target_of_properties(library, testing::properties_of("h200")).value();
  };
  auto problem = testing::small_problem();
  problem.type = CUDNN_DATA_FLOAT;
  const auto graph = normalized_convolution_statistics(problem);
  const PlanCache cache(folder.path());
  CHECK_FALSE(cache.find_refusal(described(), graph, PlanPolicy{}));
  const auto refused = choose_plan(described(), graph, PlanPolicy{}, &cache);
  REQUIRE_FALSE(refused);
  const auto found = cache.find_refusal(described(), graph, PlanPolicy{});
  REQUIRE(found);
  CHECK(found->code == Errc::unsupported);
  CHECK(found->message == refused.error().message);
  CHECK_FALSE(cache.find(described(), graph, PlanPolicy{}));
  ++library.nvrtc.version;
  CHECK_FALSE(cache.find_refusal(described(), graph, PlanPolicy{}));
}

TEST_CASE("an unwritable cache does not prevent choosing a plan") {
  const ScratchFolder folder;
  write_bytes(folder / "file", "");
  const auto target = testing::described_gpu("h200");
  const PlanCache cache(folder / "file/plans");
  const auto graph = convolution_forward(testing::small_problem());
  const auto chosen = choose_plan(target, graph, PlanPolicy{}, &cache);
  REQUIRE(chosen);
  CHECK(cache.store(target, graph, PlanPolicy{}, *chosen).error().code == Errc::io);
}
