#include "core/fail.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("an error says what happened and where, with steps counted from 1") {
  const Error error{
      Errc::numeric, "the loss is nan", {.node = "a", .actor = "worker", .rank = 1, .step = 41}};
  CHECK(error.to_string() == "numeric: the loss is nan (node a, rank 1, step 42, actor worker)");
  CHECK(Error{Errc::io, "cannot open x"}.to_string() == "i/o: cannot open x");
}

TEST_CASE("invalid input exits with 2, a failed run with 1") {
  CHECK(Error{Errc::invalid_input, ""}.exit_code() == 2);
  CHECK(Error{Errc::data, ""}.exit_code() == 2);
  CHECK(Error{Errc::unsupported, ""}.exit_code() == 2);
  CHECK(Error{Errc::numeric, ""}.exit_code() == 1);
}

TEST_CASE("invalid input of another node or of the network between exits with 1") {
  for (const auto code : {Errc::invalid_input, Errc::data, Errc::unsupported, Errc::network})
    for (const auto whose : {Whose::there, Whose::between})
      CHECK(Error{code, "", {}, whose}.exit_code() == 1);
  CHECK(Error{Errc::data, "", {.node = "b:1"}, Whose::here}.exit_code() == 2);
  const tl::unexpected<Error> made = fail(Whose::there, Errc::data, "{} rows", 3);
  CHECK(made.value().message == "3 rows");
  CHECK(made.value().whose == Whose::there);
}

TEST_CASE("TROUPE_TRY propagates an error") {
  const auto outer = [](bool good) -> Result<int> {
    const auto inner = [good]() -> Status {
      if (!good)
        return fail(Errc::data, "{} rows", 3);
      return {};
    };
    TROUPE_TRY(inner());
    return 1;
  };
  CHECK(outer(true) == 1);
  CHECK(outer(false).error().message == "3 rows");
}
