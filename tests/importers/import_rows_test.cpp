// Tests the tables of keys: no key is dropped, and the documentation lists all.
#include "tests/importers/import_fixture.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Replaces the ".*" of a pattern: "aio.*" matches any key below it.
std::string real_key(const ForeignRow& row) {
  const auto& key = row.key;
  return key.ends_with(".*") ? key.substr(0, key.size() - 1) + "anything" : key;
}

/// Returns a file with all keys of a table, each with this value.
std::string file_of(const ForeignRows& rows, const nlohmann::json& value) {
  nlohmann::json file = nlohmann::json::object();
  for (const auto& row : rows) {
    auto path = "/" + real_key(row);
    std::ranges::replace(path, '.', '/');
    file[nlohmann::json::json_pointer{path}] = value;
  }
  return file.dump(2);
}

void check_all_named(const ForeignRows& rows, const Imported& imported) {
  for (const auto& row : rows) {
    const auto key = real_key(row);
    CAPTURE(key);
    CHECK(times_named(imported, key) == 1);
  }
  CHECK(imported.lines.size() + imported.problems.size() >= rows.size());
}

} // namespace

TEST_CASE("every key of a table is reported exactly once, whatever its value is") {
  const nlohmann::json value =
      GENERATE(nlohmann::json(1), nlohmann::json(0), nlohmann::json(true), nlohmann::json(false),
               nlohmann::json("auto"), nlohmann::json("cpu"), nlohmann::json("none"),
               nlohmann::json(nullptr), nlohmann::json(1.5), nlohmann::json::array({1, 2}),
               nlohmann::json::object());
  const bool allow = GENERATE(false, true);
  CAPTURE(value.dump(), allow);
  const ImportOptions options{.allow_unsupported = allow};
  // JSON is valid YAML.
  check_all_named(accelerate_rows(), from_accelerate(file_of(accelerate_rows(), value), options));
  check_all_named(deepspeed_rows(), from_deepspeed(file_of(deepspeed_rows(), value), options));
  check_all_named(hugging_face_rows(),
                  from_hugging_face(file_of(hugging_face_rows(), value), options));
}

TEST_CASE("every key has one row with an explanation") {
  for (const auto& rows : {accelerate_rows(), deepspeed_rows(), hugging_face_rows()}) {
    std::set<std::string_view> keys;
    for (const auto& row : rows) {
      CAPTURE(row.key);
      CHECK(keys.insert(row.key).second);
      CHECK(!row.says.empty());
      CHECK((row.fate != Fate::mapped || row.map != nullptr));
    }
  }
}

TEST_CASE("the documentation has the tables of the program") {
  const auto page = read_bytes(source_tree() / "docs/from-accelerate.md");
  CHECK(page.find(foreign_rows_markdown(accelerate_rows())) != std::string::npos);
  CHECK(page.find(foreign_rows_markdown(deepspeed_rows())) != std::string::npos);
}
