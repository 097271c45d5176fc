#include "tests/metrics/metrics_page.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe::testing;

TEST_CASE("docs/metrics.md matches the list of metrics and the dashboards") {
  INFO("build/dev/tests/metrics/troupe_metrics_page >docs/metrics.md");
  CHECK((read_bytes(source_tree() / "docs/metrics.md") == metrics_page()));
}
