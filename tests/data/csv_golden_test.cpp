// Compares the reader of CSV files with pandas (tests/golden/record_csv.py).
#include "core/config/data.hpp"
#include "data/detail/csv_file.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

const Json& golden() {
  static const auto golden =
      Json::parse(read_bytes(troupe::testing::source_tree() / "tests/golden/csv.json"));
  return golden;
}

Result<CsvColumns> read(const ScratchFolder& folder, const Json& file, CsvQuery query) {
  write_bytes(folder / "file.csv", std::string_view{file.at("text").get_ref<const std::string&>()});
  query.words = "words";
  return read_csv(folder / "file.csv", query);
}

} // namespace

TEST_CASE("300 generated CSV files have the numbers and words that pandas reads") {
  const ScratchFolder folder;
  const auto& files = golden().at("files");
  REQUIRE(files.size() == 300);
  for (const auto& file : files) {
    INFO(file.dump(-1, ' ', true));
    const auto& word = file.at("delimiter").get_ref<const std::string&>();
    const auto delimiter = choice_named<Delimiter>(word).value();
    const auto read_back =
        read(folder, file, {.numbers = file.at("numbers"), .delimiter = character_of(delimiter)});
    INFO((read_back ? "" : read_back.error().message));
    REQUIRE(read_back);
    CHECK(read_back->numbers == file.at("values").get<std::vector<double>>());
    CHECK(read_back->words == file.at("words").get<std::vector<std::string>>());
    CHECK(read_back->lines.size() == read_back->words.size());
  }
}

TEST_CASE("an invalid CSV file is refused with its line and the reason") {
  const ScratchFolder folder;
  for (const auto& file : golden().at("refused")) {
    INFO(file.dump(-1, ' ', true));
    const auto refused = read(folder, file, {.numbers = {"n"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().exit_code() == 2);
    CHECK_THAT(refused.error().message, ContainsSubstring(file.at("message").get<std::string>()) &&
                                            ContainsSubstring("file.csv"));
  }
}
