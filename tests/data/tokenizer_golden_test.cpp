// Compares the ids of tricky lines with those that tests/golden/record_tokenizer.py has recorded.
#include "data/tokenizer/cut.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <fstream>
#include <set>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;

namespace {

Json recorded() {
  std::ifstream in{troupe::testing::source_tree() / "tests/golden/tokenizer.json"};
  return Json::parse(in);
}

std::string lines_of(const Json& merges) {
  std::string text = "#version: 0.2\n";
  for (const auto& merge : merges)
    text += merge.get<std::string>() + "\n";
  return text;
}

/// Replaces the end of each line by `end`.
std::string with_line_ends(std::string_view text, const std::string& end) {
  std::string changed;
  for (const char letter : text)
    changed += letter == '\n' ? end : std::string(1, letter);
  return changed;
}

/// Cuts a text at every position where one of its prefixes is cut, and counts the cuts that leave
/// the tokens unchanged.
int count_good_cuts(const TokenizerPtr& tokenizer, const std::string& text) {
  const auto whole = encoded(tokenizer, text);
  const auto find = cut_for(*tokenizer);
  std::set<std::size_t> cuts;
  for (std::size_t size = 1; size <= text.size(); ++size)
    cuts.insert(find(std::string_view{text}.substr(0, size), 0));
  cuts.erase(0);
  for (const auto cut : cuts) {
    auto parts = encoded(tokenizer, text.substr(0, cut));
    const auto rest = encoded(tokenizer, text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    CHECK(parts == whole);
  }
  return static_cast<int>(cuts.size());
}

void check_lines(const TokenizerPtr& tokenizer, const Json& lines, const Json& ids) {
  REQUIRE(lines.size() == ids.size());
  Encoder encoder{tokenizer};
  for (const int pass : {1, 2}) // in the second pass the words are cached
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto line = lines[i].get<std::string>();
      INFO(pass << " " << line);
      std::vector<TokenId> found;
      encoder.encode(line, found);
      CHECK(found == ids[i].get<std::vector<TokenId>>());
      CHECK(decoded(*tokenizer, found) == line);
    }
}

} // namespace

TEST_CASE_METHOD(TokenizerFiles, "GPT-2's two files give the recorded ids") {
  const auto golden = recorded();
  write("merges.txt", lines_of(golden["gpt2"]["merges"]));
  const auto path = write_json("vocab.json", golden["gpt2"]["vocab"]);
  const auto tokenizer = open_tokenizer(path);
  REQUIRE(tokenizer);
  check_lines(*tokenizer, golden["lines"], golden["gpt2"]["ids"]);
  CHECK(open_tokenizer(folder().string()).value()->fingerprint() == (*tokenizer)->fingerprint());
}

TEST_CASE_METHOD(TokenizerFiles, "cl100k's regular expression gives the recorded ids") {
  const auto golden = recorded();
  write("merges.txt", lines_of(golden["cl100k"]["merges"]));
  const auto path = write_json("vocab.json", golden["cl100k"]["vocab"]);
  check_lines(open_tokenizer(path, TokenizerSplit::cl100k).value(), golden["lines"],
              golden["cl100k"]["ids"]);
}

TEST_CASE_METHOD(TokenizerFiles,
                 "tokenizer.json gives the recorded ids with either regular expression") {
  const auto golden = recorded();
  auto json = small_tokenizer();
  json["added_tokens"] = Json::array();
  json["model"]["vocab"] = golden["gpt2"]["vocab"];
  json["model"]["merges"] = golden["gpt2"]["merges"];
  check_lines(open_tokenizer(write_json("a.json", json)).value(), golden["lines"],
              golden["gpt2"]["ids"]);
  json["model"]["vocab"] = golden["cl100k"]["vocab"];
  json["model"]["merges"] = golden["cl100k"]["merges"];
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern",
          {{"Regex",
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}}},
         {"behavior", "Isolated"},
         {"invert", false}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  check_lines(open_tokenizer(write_json("b.json", json)).value(), golden["lines"],
              golden["cl100k"]["ids"]);
}

TEST_CASE_METHOD(TokenizerFiles, "a text split at allowed positions gives the same tokens") {
  const auto golden = recorded();
  std::string text;
  for (const auto& line : golden["lines"])
    text += line.get<std::string>() + "\n";
  for (const std::string split : {"gpt2", "cl100k"}) {
    write("merges.txt", lines_of(golden[split]["merges"]));
    const auto tokenizer = open_tokenizer(write_json("vocab.json", golden[split]["vocab"]),
                                          choice_named<TokenizerSplit>(split).value())
                               .value();
    std::size_t cuts = 0;
    for (auto cut = last_cut(text); cut > 0;
         cut = last_cut(std::string_view{text}.substr(0, cut))) {
      auto parts = encoded(tokenizer, std::string_view{text}.substr(0, cut));
      const auto rest = encoded(tokenizer, std::string_view{text}.substr(cut));
      parts.insert(parts.end(), rest.begin(), rest.end());
      CHECK(parts == encoded(tokenizer, text));
      ++cuts;
    }
    CHECK(cuts > 5);
    for (const std::string end : {"\n", "\r\n", "!\n", ".\r\n\r\n", " \n"})
      CHECK(count_good_cuts(tokenizer, with_line_ends(text, end)) > 10);
  }
}
