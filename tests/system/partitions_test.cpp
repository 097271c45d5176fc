// Tests network partitions: one side continues, the others wait, and all nodes train together again
// afterwards.
#include "tests/system/counting.hpp"
#include "tests/system/crew.hpp"
#include "tests/system/cut.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <thread>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto detection = 2s; // of quick_timeouts
constexpr int hosts = 4;

/// Weights that show for thousands of epochs how often each sample was applied.
const Settings slowly_counting = {"data.batch_size=12", "data.slices=12", "data.eval_batch_size=12",
                                  "train.optimizer.lr=0.03", "train.epochs=100000"};

/// The nodes on each side of a partition; the first node that continues becomes the leader.
struct Sides {
  std::vector<int> go_on, wait; ///< nodes
};

/// Nodes that train one job on hosts whose network is repeatedly cut.
class Partitions {
public:
  Partitions(const Namespaces& namespaces, bool shared)
      : namespaces_{namespaces}, crew_{experiment_, "nodes", namespaces,
                                       quick_timeouts + experiment_.own + slowly_counting +
                                           Settings{"parallel.strategy=ddp", "cluster.nodes.min=1",
                                                    "cluster.nodes.max=4"},
                                       shared} {
    crew_.start_all();
    await_all();
  }

  int leader() const { return leader_; }
  /// Returns the followers, in order.
  std::vector<int> others() const {
    std::vector<int> nodes;
    for (int node = 0; node < hosts; ++node)
      if (node != leader_)
        nodes.push_back(node);
    return nodes;
  }

  /// Cuts the network until long after all nodes have noticed, then heals it; all nodes must train
  /// together again.
  void cut(const std::vector<Deaf>& deaf, const Sides& sides) {
    const auto since = std::chrono::steady_clock::now();
    Cut cut{namespaces_, deaf};
    std::this_thread::sleep_until(since + 2 * detection);
    const auto written = lines_of(sides.wait);
    for (const int node : sides.wait)
      CHECK(becomes_true([&] { return says_that_few_are_here(node); }));
    const int successor = sides.go_on.front();
    REQUIRE(becomes_true([&] { return crew_.members(successor) == sides.go_on.size(); }));
    const auto step = step_of(successor);
    std::this_thread::sleep_until(since + 3 * detection);
    CHECK(becomes_true([&] { return step_of(successor) > step + 20; }));
    CHECK(lines_of(sides.wait) == written);
    for (const int node : sides.wait)
      CHECK(says_that_few_are_here(node));
    for (const int node : sides.go_on)
      CHECK(crew_.leader(node) == crew_.leader(successor));
    cut.heal();
    await_all();
  }

  /// Ends the job. Checks that all files are of one run, and that the weights equal those of a
  /// single process.
  void check_end() {
    const auto run = crew_.run(leader_);
    const auto ended = stop(crew_[leader_]);
    CHECK(ended.code == 0);
    for (const int node : others())
      CHECK(crew_.end(node).code == 0);
    const auto steps = run.summary().at("steps").get<std::int64_t>();
    check_lines(run, steps, ended.out + ended.err);
    check_histories();
    const auto alone =
        experiment_.completed("alone", experiment_.own + slowly_counting +
                                           Settings{"train.max_steps=" + std::to_string(steps)});
    CHECK(run.digest() == alone.digest());
  }

private:
  std::int64_t step_of(int node) const {
    const auto told = crew_.status(node);
    return told.is_object() ? told.at("step").get<std::int64_t>() : 0;
  }
  bool says_that_few_are_here(int node) const {
    const auto told = crew_.status(node);
    return told.is_object() && has(told.at("phase").get<std::string>(), "voters present");
  }
  /// Returns how many steps each node has written; 0 for a shared file.
  std::vector<std::size_t> lines_of(const std::vector<int>& nodes) const {
    std::vector<std::size_t> counts(nodes.size());
    std::ranges::transform(nodes, counts.begin(), [this](int node) {
      return crew_.is_shared() ? 0 : crew_.run(node).events().size();
    });
    return counts;
  }

  /// Waits until all nodes train, in the original processes, and name one leader.
  void await_all() {
    REQUIRE(becomes_true([this] {
      std::set<std::string> leaders;
      for (int node = 0; node < hosts; ++node) {
        const auto told = crew_.status(node);
        if (!told.is_object() || told.at("nodes").size() != hosts || told.at("step") < 20)
          return false;
        leaders.insert(told.at("nodes").at(0).at("address").get<std::string>());
      }
      return leaders.size() == 1;
    }));
    leader_ = crew_.leader(0);
    const auto step = step_of(0);
    CHECK(becomes_true([&] { return step_of(0) > step + 20; }));
    for (int node = 0; node < hosts; ++node)
      CHECK(crew_[node].running());
  }

  /// Checks that each step has one line. Lines of the last steps before a leader was cut off may
  /// exist only on that leader (ADR 30); the new leader reports how many.
  static void check_lines(const RunFiles& run, std::int64_t steps, const std::string& said) {
    const auto lines = run.column<std::int64_t>("step");
    CHECK(std::ranges::adjacent_find(lines, std::ranges::greater_equal{}) == lines.end());
    std::vector<std::int64_t> missing;
    std::ranges::set_difference(all_steps(steps), lines, std::back_inserter(missing));
    CAPTURE(missing, said);
    if (!missing.empty())
      CHECK(has(said, fmt::format("the events of {} earlier steps are lost", missing.size())));
    for (const auto& change : run.recoveries())
      if (has(change.at("reason").get<std::string>(), "which led the job"))
        forgive(missing, change.at("step").get<std::int64_t>());
    CHECK(missing.empty());
  }

  /// Allows up to 20 missing lines that end before this step: those that its leader had not sent.
  static void forgive(std::vector<std::int64_t>& missing, std::int64_t end) {
    for (int count = 0; count < 20 && std::erase(missing, end - 1) > 0; ++count)
      --end;
  }

  /// Checks that the files of all nodes agree on each step and each generation.
  void check_histories() const {
    std::vector<nlohmann::json> different;
    std::map<std::int64_t, double> losses;
    std::map<std::int64_t, nlohmann::json> generations;
    for (int node = 0; node < hosts; ++node) {
      for (const auto& line : crew_.run(node).events()) {
        const auto loss = line.at("loss").get<double>();
        if (losses.emplace(line.at("step").get<std::int64_t>(), loss).first->second != loss)
          different.push_back(line);
      }
      for (const auto& line : crew_.run(node).recoveries())
        if (generations.emplace(line.at("generation").get<std::int64_t>(), line).first->second !=
            line)
          different.push_back(line);
    }
    CAPTURE(different);
    CHECK(different.empty());
  }

  Counting experiment_;
  const Namespaces& namespaces_;
  Crew crew_;
  int leader_ = -1;
};

/// Returns links on which packets from `these` to `those` are lost.
std::vector<Deaf> one_way(const std::vector<int>& these, const std::vector<int>& those) {
  std::vector<Deaf> all;
  for (const int a : these)
    for (const int b : those)
      all.push_back({.from = a + 1, .to = b + 1});
  return all;
}

bool can_be_cut(const Namespaces& namespaces) {
  return namespaces.made() && std::filesystem::exists("/usr/sbin/nft");
}

/// Cuts both directions between the nodes that wait and those that continue.
void cut_apart(Partitions& job, const Sides& sides) {
  auto deaf = one_way(sides.go_on, sides.wait);
  std::ranges::copy(one_way(sides.wait, sides.go_on), std::back_inserter(deaf));
  job.cut(deaf, sides);
}

} // namespace

TEST_CASE("after a network partition the side with a quorum continues, and all nodes join again",
          "[long]") {
  const Namespaces namespaces{hosts};
  if (!can_be_cut(namespaces))
    SKIP("no network namespaces here: they need root, iproute2 and nftables");
  Partitions job{namespaces, true};
  {
    INFO("the leader alone");
    cut_apart(job, {.go_on = job.others(), .wait = {job.leader()}});
  }
  {
    INFO("one that follows alone");
    const auto others = job.others();
    cut_apart(job, {.go_on = {job.leader(), others[0], others[2]}, .wait = {others[1]}});
  }
  {
    INFO("two and two: exactly half, with the leader");
    const auto others = job.others();
    cut_apart(job, {.go_on = {job.leader(), others[2]}, .wait = {others[0], others[1]}});
  }
  job.check_end();
}

TEST_CASE("after a one-way partition the side with a quorum continues, and all nodes join again",
          "[exhaustive]") {
  const Namespaces namespaces{hosts};
  if (!can_be_cut(namespaces))
    SKIP("no network namespaces here: they need root, iproute2 and nftables");
  Partitions job{namespaces, false};
  {
    INFO("one that follows does not hear the leader");
    const auto others = job.others();
    job.cut(one_way({job.leader()}, {others[1]}),
            {.go_on = {job.leader(), others[0], others[2]}, .wait = {others[1]}});
  }
  {
    INFO("the leader does not hear one that follows");
    const auto others = job.others();
    job.cut(one_way({others[0]}, {job.leader()}),
            {.go_on = {job.leader(), others[1], others[2]}, .wait = {others[0]}});
  }
  {
    INFO("nobody hears the leader");
    job.cut(one_way({job.leader()}, job.others()), {.go_on = job.others(), .wait = {job.leader()}});
  }
  {
    INFO("the leader hears nobody");
    job.cut(one_way(job.others(), {job.leader()}), {.go_on = job.others(), .wait = {job.leader()}});
  }
  job.check_end();
}
