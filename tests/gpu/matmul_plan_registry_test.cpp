// Tests algorithms of matrix products: measured once on a device, and found again at the next
// start.
#include "gpu/cublas/matmul_plan_registry.hpp"
#include "tests/gpu/reference.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using troupe::testing::ScratchFolder;

namespace {

constexpr std::size_t workspace_bytes = std::size_t{1} << 20;
constexpr MatmulOptions with_bias{.rows = 6,
                                  .in = 16,
                                  .out = 8,
                                  .operands = DType::f16,
                                  .result = DType::f32,
                                  .bias = true,
                                  .workspace_bytes = workspace_bytes};

struct Products : GpuFixture {
  std::unique_ptr<MatmulPlanRegistry> open() {
    said.clear();
    auto registry = MatmulPlanRegistry::open(
        device(), {folder.path(), [this](const std::string& line) { said.push_back(line); }});
    INFO((registry ? "" : registry.error().to_string()));
    REQUIRE(registry);
    return std::move(*registry);
  }

  /// Returns x · weightᵀ + bias, with the same values at each call.
  Floats result_of(const Matmul& matmul, const MatmulOptions& o) {
    const auto rows = static_cast<std::size_t>(o.rows), in = static_cast<std::size_t>(o.in),
               out = static_cast<std::size_t>(o.out);
    const auto *const x = upload(normal_values(rows * in, 1, o.operands), o.operands),
                      *const weight = upload(normal_values(out * in, 2, o.operands), o.operands);
    auto* const y = room(rows * out, o.result);
    auto* const workspace = room(workspace_bytes / sizeof(float));
    stream().enqueue("product", [&](cudaStream_t raw) {
      return matmul.run(
          raw, {x, weight, y, workspace, o.bias ? floats(normal_values(out, 3)) : nullptr});
    });
    return download(y, rows * out, o.result);
  }

  Floats reference_of(const MatmulOptions& o) const {
    const auto rows = static_cast<std::size_t>(o.rows), in = static_cast<std::size_t>(o.in),
               out = static_cast<std::size_t>(o.out);
    const auto x = normal_values(rows * in, 1, o.operands),
               weight = normal_values(out * in, 2, o.operands), bias = normal_values(out, 3);
    Floats y(rows * out);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < out; ++c) {
        double sum = o.bias ? static_cast<double>(bias[c]) : 0;
        for (std::size_t k = 0; k < in; ++k)
          sum += static_cast<double>(x[r * in + k]) * static_cast<double>(weight[c * in + k]);
        y[r * out + c] = static_cast<float>(sum);
      }
    return y;
  }

  /// Changes the only cache entry, as another start or a damaged disk would.
  void change_entry(const char* name, const nlohmann::json& value) const {
    const std::filesystem::directory_iterator only{folder.path()};
    const auto path = only->path();
    std::ifstream file{path};
    auto entry = nlohmann::json::parse(file);
    entry[name] = value;
    std::ofstream{path} << entry.dump();
  }

  ScratchFolder folder;
  std::vector<std::string> said;
};

} // namespace

TEST_CASE_METHOD(Products, "equal products are measured once, and the choice is one log line") {
  const auto registry = open();
  const auto chosen = registry->product(with_bias, false);
  REQUIRE(chosen);
  CHECK(chosen->microseconds > 0);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0],
             ContainsSubstring("plan of product forward 6x16 -> 8 f16 -> f32, bias: algorithm "));
  CHECK_THAT(said[0], ContainsSubstring(" us (") && ContainsSubstring(" candidates)"));
  const auto again = registry->product(with_bias, false);
  REQUIRE(again);
  CHECK(again->microseconds == chosen->microseconds);
  CHECK(said.size() == 1);
  require_near(result_of(chosen->matmul, with_bias), reference_of(with_bias), 1e-3f, "y");
  auto larger = with_bias;
  larger.rows = 7;
  REQUIRE(registry->product(larger, false));
  CHECK(said.size() == 2);
}

TEST_CASE_METHOD(Products, "a candidate that the library refuses leaves no error") {
  REQUIRE(open()->product(with_bias, false));
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

// Otherwise a kernel of the candidate writes to freed memory and ends the process.
TEST_CASE_METHOD(Products, "operands are freed only after a half-failed candidate has ended") {
  REQUIRE(open()->product(with_bias, false));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(Products, "matrices may be aligned to 64 bytes, like shards") {
  const auto chosen = open()->product(with_bias, false);
  REQUIRE(chosen);
  constexpr std::size_t rows = 6, in = 16, out = 8, halves = 32, words = 16; // each 64 bytes
  const auto *const x = upload(normal_values(rows * in, 1, DType::f16), DType::f16, halves),
                    *const weight =
                        upload(normal_values(out * in, 2, DType::f16), DType::f16, halves);
  auto* const y = room(rows * out, DType::f32, words);
  auto* const workspace = room(workspace_bytes / sizeof(float));
  stream().enqueue("product", [&](cudaStream_t raw) {
    return chosen->matmul.run(raw, {x, weight, y, workspace, floats(normal_values(out, 3))});
  });
  require_near(download(y, rows * out), reference_of(with_bias), 1e-3f, "y");
}

TEST_CASE_METHOD(Products, "the next start finds the measured plans and gives the same result") {
  const auto first = open()->product(with_bias, false);
  REQUIRE(first);
  const auto registry = open();
  const auto second = registry->product(with_bias, false);
  REQUIRE(second);
  CHECK(said.empty());
  CHECK(second->microseconds == first->microseconds);
  CHECK(second->matmul.tag() == first->matmul.tag());
  CHECK(result_of(second->matmul, with_bias) == result_of(first->matmul, with_bias));
}

TEST_CASE_METHOD(Products, "a damaged entry is measured again") {
  REQUIRE(open()->product(with_bias, false));
  change_entry("algorithm", std::string(128, '0'));
  const auto registry = open();
  REQUIRE(registry->product(with_bias, false));
  CHECK(said.size() == 1);
  REQUIRE(open()->product(with_bias, false));
  CHECK(said.empty());
}

TEST_CASE_METHOD(Products, "in deterministic mode nothing is measured, stored or read from disk") {
  const auto registry = open();
  const auto first = registry->product(with_bias, true);
  REQUIRE(first);
  CHECK(first->microseconds < 0);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], ContainsSubstring("not measured"));
  CHECK(std::filesystem::is_empty(folder.path()));
  require_near(result_of(first->matmul, with_bias), reference_of(with_bias), 1e-3f, "y");
  REQUIRE(registry->product(with_bias, false));
  const auto again = open()->product(with_bias, true);
  REQUIRE(again);
  CHECK(again->matmul.tag() == first->matmul.tag());
  CHECK(again->microseconds < 0);
}

TEST_CASE_METHOD(Products, "an unwritable folder is reported and is not a failure") {
  std::ofstream{folder.path() / "file"} << "no folder";
  std::string line;
  const auto registry = MatmulPlanRegistry::open(
      device(), {folder.path() / "file", [&](const std::string& said_line) { line = said_line; }});
  REQUIRE(registry);
  REQUIRE((*registry)->product(with_bias, false));
  CHECK_THAT(line, ContainsSubstring("; not cached: "));
}

TEST_CASE_METHOD(Products, "two streams run one product with two biases") {
  const auto registry = open();
  const auto chosen = registry->product(with_bias, false);
  REQUIRE(chosen);
  constexpr std::size_t rows = 6, in = 16, out = 8, count = 2;
  const auto *const x = upload(normal_values(rows * in, 1, DType::f16), DType::f16),
                    *const weight = upload(normal_values(out * in, 2, DType::f16), DType::f16);
  std::array<std::unique_ptr<Stream>, count> streams;
  std::array<float*, count> biases{}, results{};
  std::array<void*, count> workspaces{};
  for (std::size_t i = 0; i < count; ++i) {
    streams[i] = device().create_stream({.name = "test"});
    biases[i] = floats(Floats(out, i == 0 ? 100.0f : -100.0f));
    results[i] = float_room(rows * out);
    workspaces[i] = room(workspace_bytes / sizeof(float));
  }
  for (std::size_t i = 0; i < count; ++i)
    cuda_stream(*streams[i]).enqueue("product", [&](cudaStream_t raw) {
      return chosen->matmul.run(raw, {x, weight, results[i], workspaces[i], biases[i]});
    });
  for (const auto& one : streams)
    REQUIRE(one->synchronize());
  const auto plus = download(results[0], rows * out), minus = download(results[1], rows * out);
  for (std::size_t i = 0; i < plus.size(); ++i)
    CHECK(plus[i] - minus[i] > 100);
}
