// Tests troupe runs as a user runs it.
#include "tests/app/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::testing;

namespace {

/// A folder with a run whose second epoch is the best.
class Runs {
public:
  Runs() {
    const auto run = folder_ / "first";
    std::filesystem::create_directories(run);
    write_bytes(run / "run.json", R"({"name": "first", "model": "resnet20", "total_steps": 20})");
    write_bytes(run / "epochs.jsonl", R"({"epoch": 0, "test_loss": 2, "test_accuracy": 0.5}
{"epoch": 1, "test_loss": 1, "test_accuracy": 0.75}
)");
  }
  Outcome list(const std::string& option = {}) const {
    return troupe_program("runs " + folder_.path().string() + " " + option);
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(Runs, "the table of runs counts epochs from 1") {
  const auto listed = list();
  CHECK(listed.code == 0);
  CHECK(listed.out.find("test accuracy 75.0% (epoch 2)") != std::string::npos);
}

TEST_CASE_METHOD(Runs, "runs --json counts epochs from 0, like epochs.jsonl") {
  const auto listed = list("--json");
  REQUIRE(listed.code == 0);
  const auto best = nlohmann::json::parse(listed.out).at(0).at("best");
  CHECK(best == nlohmann::json{{"epoch", 1}, {"test_loss", 1.0}, {"test_accuracy", 0.75}});
}
