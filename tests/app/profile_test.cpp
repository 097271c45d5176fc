// Tests the output of `troupe train --profile`.
#include "tests/app/program.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace troupe::testing;
using Catch::Approx;

namespace {

/// Profiles a small network.
Outcome profile(const std::string& options) {
  const ScratchFolder folder;
  const auto config = folder / "small.yaml", output = folder / "runs";
  std::ofstream{config} << "model: {name: resnet20, width: 4}\n"
                           "data: {dataset: synthetic, image_size: 8, batch_size: 8, limit: 64}\n"
                           "devices: {kind: cpu, threads_per_worker: 2}\n"
                           "run: {output: "
                        << output.string() << "}\n";
  auto outcome = troupe_program("train " + shell_word(config.string()) + " " + options);
  CHECK_FALSE(std::filesystem::exists(output));
  return outcome;
}

} // namespace

TEST_CASE("train --profile prints a row for each op, and the step that they add up to") {
  const auto shown = profile("--profile");
  CAPTURE(shown.err);
  REQUIRE(shown.code == 0);
  for (const auto* const text :
       {"limit %", "conv2d", "batch norm", "optimizer", "between ops", "step ", "5 steps"})
    CHECK(shown.out.find(text) != std::string::npos);
}

TEST_CASE("train --profile --format json prints the same as one object, by shape if asked") {
  const auto ops = profile("--profile --format json"),
             shapes = profile("--profile --shapes --format json");
  CAPTURE(ops.err, shapes.err);
  REQUIRE(ops.code == 0);
  REQUIRE(shapes.code == 0);
  const auto json = nlohmann::json::parse(ops.out), by_shape = nlohmann::json::parse(shapes.out);
  double seconds = 0;
  for (const auto& row : json.at("rows"))
    seconds += row.at("seconds").get<double>();
  CHECK(seconds == Approx(json.at("seconds").get<double>()));
  CHECK(json.at("limits").at("operations_per_second").get<double>() > 0);
  CHECK(json.at("limits").at("memory_bytes_per_second").get<double>() > 0);
  CHECK(json.at("rows").front().at("shapes").is_null());
  CHECK(by_shape.at("rows").size() > json.at("rows").size());
}

TEST_CASE("options of a profile need --profile") {
  for (const auto* const option : {"--shapes", "--format json"}) {
    const auto refused = profile(option);
    CHECK(refused.code == 2);
    CHECK(refused.err.find("--profile") != std::string::npos);
  }
}
