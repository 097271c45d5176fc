// Tests continued sequences on the host's engines: rows that exceed the cache.
#include "core/device/executable.hpp"
#include "cpu/host_device.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t rows_of_piece = 5;

/// Returns the status of five rows that start at this position, in a cache of 13 places of which 9
/// have a position.
Status go_on_from(std::int32_t first, Engine engine) {
  const auto model = generating_model(rows_of_piece, {});
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({.threads = 2});
  const auto executable =
      device->compile(model.graph, {.engine = engine, .threads = 2, .memory = model.memory});
  REQUIRE(executable);
  const auto& layout = (*executable)->layout();
  std::vector<float> parameters(layout.unit_elements.at(0)), caches(layout.statistic_elements);
  (*executable)->bind(0, parameters.data(), nullptr);
  (*executable)->bind_statistics(caches.data());
  (*executable)->refresh_all(*stream);
  const std::vector<std::int32_t> tokens(2 * rows_of_piece);
  REQUIRE((*executable)->set_batch(at_addresses((*executable)->batch(), {tokens.data(), &first})));
  (*executable)->run(*stream);
  return stream->synchronize();
}

} // namespace

TEST_CASE("more rows than a sequence has room for are a data error") {
  const auto engine = GENERATE(Engine::fastest, Engine::interpreter);
  CHECK(go_on_from(0, engine));
  CHECK(go_on_from(4, engine));
  for (const std::int32_t first : {-1, 5}) {
    const auto refused = go_on_from(first, engine);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::data);
    CHECK_THAT(refused.error().message, Catch::Matchers::ContainsSubstring(
                                            "5 rows begin at position " + std::to_string(first)));
  }
}
