#include "gpu/architectures.hpp"

#include "gpu/description.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using Catch::Matchers::ContainsSubstring;

namespace {

const gpu::Architectures tested{.machine_code = {80, 90}, .ptx = 80};
const gpu::Architectures packaged{.machine_code = {80, 86, 89, 90, 100, 103, 120}, .ptx = 80};
const gpu::Architectures only_h100{.machine_code = {90}, .ptx = 0};

} // namespace

TEST_CASE("a GPU runs the latest machine code of its major version") {
  CHECK(gpu::kernels_for(tested, 90) == "machine code for sm_90");
  CHECK(gpu::kernels_for(tested, 89) == "machine code for sm_80");
  CHECK(gpu::kernels_for(packaged, 89) == "machine code for sm_89");
  CHECK(gpu::kernels_for(packaged, 87) == "machine code for sm_86");
  CHECK(gpu::kernels_for(packaged, 103) == "machine code for sm_103");
  CHECK(gpu::kernels_for(packaged, 121) == "machine code for sm_120");
}

TEST_CASE("a later GPU runs PTX") {
  CHECK_THAT(gpu::kernels_for(tested, 100).value(), ContainsSubstring("PTX"));
  CHECK_THAT(gpu::kernels_for(packaged, 130).value(), ContainsSubstring("PTX"));
}

TEST_CASE("a GPU without kernels is reported with a remedy") {
  const auto newer = gpu::kernels_for(only_h100, 120);
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == Errc::unsupported);
  CHECK_THAT(newer.error().message, ContainsSubstring("sm_120") &&
                                        ContainsSubstring("it has sm_90") &&
                                        ContainsSubstring("TROUPE_CUDA_ARCHITECTURES=120"));
  const auto older = gpu::kernels_for(packaged, 75);
  REQUIRE_FALSE(older);
  CHECK_THAT(older.error().message, ContainsSubstring("8.0 or later"));
}

TEST_CASE("doctor lists the architectures, and fails for a GPU without kernels") {
  CHECK(gpu::to_string(tested) == "sm_80, sm_90; PTX for later GPUs");
  CHECK(gpu::to_string(only_h100) == "sm_90");
  const auto good = gpu::kernel_trait(1, tested, 90);
  CHECK(good.name == "kernels of 1");
  CHECK(good.value == "machine code for sm_90");
  CHECK(good.usable);
  CHECK_FALSE(gpu::kernel_trait(0, only_h100, 80).usable);
}

TEST_CASE("this program has kernels for some GPU") {
  CHECK_FALSE(gpu::built_architectures().machine_code.empty());
}
