// Tests that a node that cannot take part does not harm the others.
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <fstream>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A table with two copies, one of which has another number in one row.
class Tables : public Experiment {
public:
  Tables()
      : Experiment{{"data.dataset=csv", "data.table.features=[x]", "data.table.targets=[y]",
                    "data.augment=[]", "model.name=linear", "model.num_classes=1",
                    "model.loss=mean_squared_error", "train.optimizer.lr=0.01",
                    "train.evaluate_every=0"}} {
    for (const bool is_changed : {false, true}) {
      const auto folder = *this / (is_changed ? "changed" : "good");
      std::filesystem::create_directory(folder);
      for (const char* file : {"train.csv", "test.csv"}) {
        std::ofstream out{folder / file};
        out << "x,y\n";
        for (int i = 0; i < 96; ++i)
          out << fmt::format("{},{}\n", i % 7, is_changed && i == 50 ? 99 : i % 5);
      }
    }
  }
  /// At least two nodes.
  Settings settings() const {
    return for_nodes(2, "ddp") + Settings{"cluster.nodes.max=3", "data.slices=6",
                                          "train.epochs=100000",
                                          "data.root=" + (*this / "good").string()};
  }
  Settings changed() const { return {"data.root=" + (*this / "changed").string()}; }
};

void check_names_both_fingerprints(const std::string& text) {
  CHECK_THAT(text, ContainsSubstring("data.root must contain the same files on every node"));
  const std::string word = "fingerprint ";
  const auto first = text.find(word), second = text.find(word, first + 1);
  REQUIRE(second != std::string::npos);
  CHECK(text.substr(first, 30) != text.substr(second, 30));
}

} // namespace

TEST_CASE("a node with one different row of data is refused, and the others continue") {
  const Tables tables;
  Daemons daemons{tables, "nodes", tables.settings()};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  const auto run = tables.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5; }));
  const auto refused = daemons.join(tables.changed()).wait();
  CHECK(refused.code == 2);
  check_names_both_fingerprints(refused.err);
  CHECK(leader.prints("is refused"));
  const auto before = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > before + 20; }, 30s));
  CHECK(stop(leader).code == 0);
  CHECK(second.wait().code == 0);
  CHECK(run.recoveries().empty());
}

TEST_CASE("before a job begins, a node with other data is refused, and the leader keeps waiting") {
  const Tables tables;
  Daemons daemons{tables, "nodes", tables.settings()};
  auto& leader = daemons.lead();
  const auto refused = daemons.join(tables.changed()).wait();
  CHECK(refused.code == 2);
  check_names_both_fingerprints(refused.err);
  CHECK(leader.running());
  auto& second = daemons.join();
  const auto run = tables.run("nodes");
  CHECK(becomes_true([&] { return run.steps_done() > 5; }));
  CHECK(stop(leader).code == 0);
  CHECK(second.wait().code == 0);
}

// The control connection works, because the new node has made it; data connections are made to the
// new node.
TEST_CASE("a job does not halt for a node whose data port cannot be reached") {
  const Tables tables;
  Daemons daemons{tables, "nodes", tables.settings()};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  const auto run = tables.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5; }));
  auto& nowhere = daemons.join({"cluster.listen.advertise=127.0.0.2:0"}); // it listens on 127.0.0.1
  auto& unknown = daemons.join({"cluster.listen.advertise=no-such-host.invalid:0"});
  for (auto* joiner : {&nowhere, &unknown}) {
    CHECK(joiner->prints("data connections cannot be made"));
    CHECK(joiner->running());
  }
  CHECK(leader.prints("no-such-host.invalid"));
  const auto before = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > before + 20; }, 30s));
  CHECK(run.recoveries().empty());
  for (auto* joiner : {&nowhere, &unknown})
    CHECK(terminate(*joiner).code == 0);
  CHECK(stop(leader).code == 0);
  CHECK(second.wait().code == 0);
}
