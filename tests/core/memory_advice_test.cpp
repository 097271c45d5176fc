#include "core/device/memory_advice.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("out of memory is invalid input before the first step and a failure afterwards") {
  const Error error{Errc::out_of_memory, "no room", {.rank = 1}};
  CHECK(error.exit_code() == 1);
  const auto before = before_first_step(error);
  CHECK(before.exit_code() == 2);
  CHECK(before.message == "not enough memory: no room");
  CHECK(before.where.rank == 1);
  CHECK(before_first_step({Errc::io, "full"}).code == Errc::io);
}

TEST_CASE("every kind of memory has a setting that reduces it") {
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    CHECK_FALSE(settings_that_help(static_cast<MemoryKind>(kind)).empty());
  CHECK(settings_that_help(MemoryKind::activations).find("data.batch_size") !=
        std::string_view::npos);
}
