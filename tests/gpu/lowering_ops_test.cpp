// Tests that the graphs of tests/devices/ops_test.cpp have a plan for every convolution on GPUs
// that are only described.
#include "tests/devices/op_cases.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/gpu/missing_plan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("every convolution of the op tests has a deterministic plan") {
  for (const auto precision :
       {Precision::fp32, Precision::tf32, Precision::amp_fp16, Precision::amp_bf16}) {
    const CompileOptions options{.deterministic = true, .tf32 = precision == Precision::tf32};
    gpu::PlanRegistry plans{described_gpu("h100_sxm")};
    const auto policy = gpu::policy_of(options);
    for (const auto& one : all_op_cases()) {
      INFO(to_string(precision) << ", " << one.name);
      CHECK_THAT(missing_plan(plans, policy, one.model({.precision = precision}).graph),
                 Catch::Matchers::Equals(""));
      if (one.images[3] != 3)
        continue;
      const nn::InputFormat padded{compute_type(precision), 4};
      CHECK_THAT(
          missing_plan(plans, policy, one.model({.precision = precision, .input = padded}).graph),
          Catch::Matchers::Equals(""));
    }
  }
}
