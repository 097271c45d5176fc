// Tests grammar, lines, columns and numbers of CSV files.
#include "data/detail/csv_file.hpp"
#include "data/detail/csv_number.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <cmath>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

Result<CsvColumns> read(const std::string& text, const CsvQuery& query) {
  const ScratchFolder folder;
  write_bytes(folder / "file.csv", std::string_view{text});
  return read_csv(folder / "file.csv", query);
}

std::string refusal(const std::string& text, const CsvQuery& query) {
  const auto refused = read(text, query);
  REQUIRE_FALSE(refused);
  return refused.error().message;
}

} // namespace

TEST_CASE("a quote inside an unquoted cell of an unused column does not hide rows") {
  std::string text = "size,name\n";
  for (int row = 0; row < 1000; ++row)
    text += fmt::format("{},{}\n", row, row == 500 ? "3.5\" disk" : "disk");
  const auto read_back = read(text, {.numbers = {"size"}});
  REQUIRE(read_back);
  REQUIRE(read_back->numbers.size() == 1000);
  CHECK(read_back->numbers[501] == 501);
}

TEST_CASE("lines are counted across quoted line ends, empty lines, CRLF and CR") {
  const auto lines = read("a,b\r\n1,\"x\r\ny\"\r\n\r\n2,z\r3,z\n", {.numbers = {"a"}});
  REQUIRE(lines);
  CHECK(lines->lines == std::vector<std::size_t>{2, 5, 6});
  CHECK_THAT(refusal("a,b\r\n1,\"x\r\ny\"\r\n\r\nz,z\r\n", {.numbers = {"a"}}),
             ContainsSubstring("file.csv:5: column \"a\": z is not a number"));
}

TEST_CASE("a missing column is reported with the existing columns and the nearest one") {
  CHECK_THAT(refusal("length,width\n1,2\n", {.numbers = {"lenght"}}),
             EndsWith("file.csv:1: there is no column \"lenght\"; the columns are \"length\", "
                      "\"width\"; did you mean \"length\"?"));
  CHECK_THAT(refusal("1.5,2\n1,2\n", {.numbers = {"length"}}),
             EndsWith("the first line must contain the names of the columns"));
  std::string many = "c0";
  for (int i = 1; i < 30; ++i)
    many += fmt::format(",c{}", i);
  CHECK_THAT(refusal(many + "\n", {.numbers = {"length"}}), EndsWith("\"c19\" and 10 more"));
}

TEST_CASE("a header with another delimiter is refused, and the delimiter is named") {
  CHECK_THAT(
      refusal("length;width\n1;2\n", {.numbers = {"length"}}),
      ContainsSubstring("the only column is \"length;width\"") &&
          EndsWith("the delimiter seems to be a semicolon: set data.table.delimiter: semicolon"));
  CHECK_THAT(refusal("length\twidth\n1\t2\n", {.numbers = {"height"}}),
             EndsWith("the delimiter seems to be a tab: set data.table.delimiter: tab"));
  CHECK_THAT(refusal("a|b,c\n1|2,3\n", {.numbers = {"a"}}), EndsWith("data.table.delimiter: pipe"));
  CHECK_THAT(refusal("length,width\n1,2\n", {.numbers = {"width"}, .delimiter = ';'}),
             EndsWith("data.table.delimiter: comma"));
}

TEST_CASE("a CSV file that is not plain text is refused with its type") {
  const auto refused = [](std::string_view content) {
    return refusal(std::string{content}, {.numbers = {"a"}});
  };
  CHECK_THAT(refused("\x1f\x8b\x08"),
             EndsWith("file.csv: this is a gzip file, not plain text: unpack it first"));
  CHECK_THAT(refused("PAR1\x15\x04"),
             EndsWith("this is a Parquet file, not plain text: save its table as CSV first"));
  CHECK_THAT(refused("PK\x03\x04"), EndsWith("a ZIP archive or an Office document, not plain text: "
                                             "unpack it, or save the workbook as CSV"));
  CHECK_THAT(refused("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
             EndsWith("a Word or Excel file, not plain text: save its table as CSV first"));
  CHECK_THAT(refused(std::string_view{"\xff\xfe"
                                      "a\0",
                                      4}),
             EndsWith("text in UTF-16, not plain text: convert it to UTF-8 first"));
  CHECK_THAT(refused("\x89PNG\r\n\x1a\n"),
             EndsWith("a PNG image, not plain text: tables are CSV files"));
}

TEST_CASE("a column name may equal the magic bytes of Parquet files") {
  const auto table = read("PAR1,PAR2\n1,2\n", {.numbers = {"PAR1"}});
  REQUIRE(table);
  CHECK(table->numbers == std::vector<double>{1});
}

TEST_CASE("numbers are read as the nearest double") {
  CHECK(parse_finite("1e-50") == 1e-50);
  CHECK(parse_finite("1e39") == 1e39);
  CHECK(parse_finite("+1") == 1);
  CHECK(parse_finite(" .5\t") == 0.5);
  CHECK(parse_finite("1700000000.25") == 1700000000.25);
  CHECK(parse_finite("4e-324") == 5e-324);
  CHECK(parse_finite("-1e-400") == 0);
  for (const auto* const text :
       {"", " ", "nan", "inf", "1e400", "-1e400", "++1", "+-1", "0x1", "1 2", "1e", "1,5"}) {
    INFO(text);
    CHECK_FALSE(parse_finite(text));
  }
}
