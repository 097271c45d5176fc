#include "core/json.hpp"
#include "tests/support/nested_json.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using Catch::Matchers::StartsWith;

namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_json(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::data);
  return parsed.error().message;
}

} // namespace

TEST_CASE("JSON at the depth limit is parsed, and one level deeper is refused") {
  const auto deepest = testing::deeply_nested(max_json_depth);
  CHECK(parse_json(deepest).value().dump() == deepest);
  CHECK(refusal("[" + deepest + "]") == "line 1: JSON nested deeper than 32 levels");
}

TEST_CASE("JSON nested 100,000 deep is refused, closed or not, in lists and objects") {
  CHECK(refusal(testing::deeply_nested()) == "line 1: JSON nested deeper than 32 levels");
  CHECK(refusal(std::string(100'000, '[')) == "line 1: JSON nested deeper than 32 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i)
    objects += "{\"a\":\n";
  CHECK(refusal(objects) == "line 33: JSON nested deeper than 32 levels");
}

TEST_CASE("brackets in strings and beside each other do not count as levels") {
  const std::string text(100, '[');
  CHECK(parse_json("\"\\\"" + text + "\"").value() == "\"" + text);
  std::string beside = "[[]";
  for (int i = 0; i < 100; ++i)
    beside += ",[]";
  CHECK(parse_json(beside + "]").value().size() == 101);
}

TEST_CASE("text that is not JSON is refused with its file and line") {
  CHECK_THAT(refusal("{\n\"a\": 1,\n}"), StartsWith("line 3: not JSON: "));
  CHECK_THAT(refusal(""), StartsWith("line 1: not JSON: "));
  CHECK_THAT(refusal("1 2"), StartsWith("line 1: not JSON: "));
  const auto in_file = parse_json("[\n", "runs/a.jsonl", 7);
  REQUIRE_FALSE(in_file);
  CHECK_THAT(in_file.error().message, StartsWith("runs/a.jsonl:8: not JSON: "));
}

TEST_CASE("a number outside of the range of doubles is refused") {
  CHECK_THAT(refusal("[1e999]"), StartsWith("line 1: a number is too large"));
}

TEST_CASE("ordered JSON keeps the order of its keys") {
  const std::string text = R"({"b":1,"a":2})";
  CHECK(parse_json<nlohmann::ordered_json>(text).value().dump() == text);
}
