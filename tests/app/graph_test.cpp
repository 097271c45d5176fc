// Tests `config show --graph`: the typed graph of a step.
#include "tests/app/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::string debug_config = "configs/debug.yaml"; // in the source tree

/// Shows the graph of the interpreter, which supports every type and does not rewrite the model.
Outcome show(const std::string& options) {
  return troupe_program("config show --graph " + debug_config +
                        " --set devices.engine=interpreter " + options);
}

const nlohmann::json& node(const nlohmann::json& graph, const std::string& name) {
  const auto found = std::ranges::find_if(
      graph, [&](const nlohmann::json& candidate) { return candidate.at("name") == name; });
  INFO(name);
  REQUIRE(found != graph.end());
  return *found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

} // namespace

TEST_CASE("the graph is a table with aligned columns, forward and backward") {
  const auto shown = show("--set precision.mode=amp_bf16");
  CAPTURE(shown.err);
  REQUIRE(shown.code == 0);
  const auto lines = lines_of(shown.out);
  REQUIRE(lines.size() > 100);
  const auto reads = lines[0].find("READS"), name = lines[0].find("NAME");
  REQUIRE(lines[0].starts_with("PHASE"));
  for (const auto& line : lines) {
    CAPTURE(line);
    CHECK(line.substr(name - 2, 2) == "  ");
    CHECK(line.substr(reads - 2, 2) == "  ");
    CHECK(line[reads] != ' ');
  }
  CHECK(lines[1].starts_with("forward   stem"));
  CHECK(lines[1].find("images:f32[16x32x32x3]") != std::string::npos);
  CHECK(lines[2].find("images.bf16:bf16[16x32x32x3], conv1.weight:f32>bf16[16x3x3x3]") !=
        std::string::npos);
  CHECK(lines.back().starts_with("backward  stem"));
}

TEST_CASE("the graph as JSON contains types, shapes, units and phases") {
  const auto shown =
      show("--json --set precision.mode=amp_fp16 --set model.autocast_off=[layer1.0]");
  CAPTURE(shown.err);
  REQUIRE(shown.code == 0);
  const auto graph = nlohmann::json::parse(shown.out);
  const auto& inside = node(graph, "layer1.0.conv1");
  CHECK(inside.at("op") == "conv2d");
  CHECK(inside.at("unit") == "layer1.0");
  CHECK(inside.at("phase") == "forward");
  CHECK(inside.at("computes_in") == "f32");
  CHECK(inside.at("outputs")[0].at("shape") == nlohmann::json{16, 32, 32, 16});
  const auto& outside = node(graph, "layer1.1.conv1");
  CHECK(outside.at("computes_in") == "f16");
  CHECK(outside.at("inputs")[1] == nlohmann::json{{"name", "layer1.1.conv1.weight"},
                                                  {"dtype", "f32"},
                                                  {"shape", {16, 16, 3, 3}},
                                                  {"read_as", "f16"}});
  CHECK(outside.at("outputs")[0].at("dtype") == "f16");
  const auto& gradient = node(graph, "layer1.1.conv1.weight.grad");
  CHECK(gradient.at("phase") == "backward");
  CHECK(gradient.at("computes_in") == "f16");
  CHECK(gradient.at("outputs")[0].at("dtype") == "f32");
}

TEST_CASE("the graph is for the config's engine and micro-batch") {
  const auto fused = troupe_program("config show --graph --json " + debug_config +
                                    " --set train.accumulate=2 --set devices.count=2"
                                    " --set parallel.strategy=ddp");
  REQUIRE(fused.code == 0);
  const auto graph = nlohmann::json::parse(fused.out);
  CHECK(node(graph, "relu").at("op") == "batch_norm");
  CHECK(node(graph, "conv1").at("inputs")[0].at("shape") == nlohmann::json{4, 32, 32, 3});
}

TEST_CASE("an invalid config prints no graph") {
  const auto wrong = show("--set model.autocast_off=[layr1]");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("did you mean \"layer1\"?") != std::string::npos);
  CHECK(wrong.out.empty());
  CHECK(troupe_program("config show --json " + debug_config).code == 2);
}
