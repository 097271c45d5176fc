// Tests Hjson, the syntax of DeepSpeed's files.
#include "tests/importers/import_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

void check_made(const std::string& text) {
  CAPTURE(text);
  const auto config = config_of(from_deepspeed(text, {.processes = 2}));
  CHECK(config.data.batch_size == 64);
  CHECK(config.train.optimizer.name == OptimizerKind::adamw);
  CHECK(config.train.optimizer.lr == 0.002);
  CHECK(config.train.optimizer.betas[1] == 0.95);
}

/// Returns the only problem of a file.
std::string problem(const std::string& text) {
  const auto lines = problems_of(from_deepspeed(text));
  REQUIRE(lines.size() == 1);
  return lines[0];
}

} // namespace

TEST_CASE("names without quotes, comments and missing or superfluous commas are read") {
  check_made(R"({"train_batch_size": 64, "optimizer": {"type": "AdamW",
    "params": {"lr": 2e-3, "betas": [0.9, 0.95]}}})");
  check_made(R"(# JSON with more
{ train_batch_size: 64, // of all workers
  optimizer: {
    type: 'AdamW', /* a comment of
    two lines */ params: {lr: 2e-3, betas: [0.9, 0.95,],},
  },
})");
  check_made("train_batch_size: 64\r\noptimizer: {\r\n  type: AdamW\r\n  params: {\n"
             "    lr: 0.002 # high\n    betas: [\n      0.9\n      0.95\n    ]\n  }\n}");
  check_made("\xEF\xBB\xBF{train_batch_size: 64\n optimizer: {\"\\u0074ype\": '''AdamW''' "
             "params: {lr: 2e-3\n betas: [0.9\n 0.95]}}}");
}

TEST_CASE("an unquoted text extends to the end of its line") {
  const auto document = read_foreign_hjson("a: http://b/c, \"d\" # e\nf: 'it\\'s \"g\"'\n"
                                           "h:\n  '''\n  i\n    j\n  '''\nk: 1 2\nl: -0.5 # m\n"
                                           "n: nullable\no: null",
                                           "a.hjson");
  REQUIRE(document);
  const auto text = [&](const char* key) { return document->find(key)->text; };
  CHECK(text("a") == "http://b/c, \"d\" # e");
  CHECK(text("f") == "it's \"g\"");
  CHECK(text("h") == "i\n  j");
  CHECK(text("k") == "1 2");
  CHECK(text("n") == "nullable");
  CHECK(document->find("k")->kind == ForeignKind::text);
  CHECK(document->find("l")->kind == ForeignKind::number);
  CHECK(document->find("l")->text == "-0.5");
  CHECK(document->find("o")->kind == ForeignKind::null);
  CHECK(document->find("o")->line == 11);
}

TEST_CASE("a file that is not Hjson is refused at the location of the error") {
  const std::string begin = "not JSON or Hjson: ";
  CHECK(problem("{a: 1") == "ds.json:1:6: " + begin + "the file ends too early: } is missing");
  CHECK(problem("{a: [1,\n 2") ==
        "ds.json:2:3: " + begin + "the file ends too early: ] is missing");
  CHECK(problem("{a: }") == "ds.json:1:5: " + begin + "a value is missing");
  CHECK(problem("{a b: 1}") == "ds.json:1:4: " + begin + "a colon is missing after a name");
  CHECK(problem("{,}") == "ds.json:1:2: " + begin + "a name is missing");
  CHECK(problem("{a: 1}}") ==
        "ds.json:1:7: " + begin + "text after the end of the outermost mapping");
  CHECK(problem("a: '''b") == "ds.json:1:7: " + begin + "the file ends too early: ''' is missing");
  for (const std::string text :
       {R"({a: "b)", "{a: \"b\n\"}", R"({a: "\q"})", R"({a: "\ud800"})", R"({a: "\)"})
    CHECK(problem(text).find("a quoted string has no end") != std::string::npos);
  CHECK(problem(" # nothing\n").ends_with(begin + "the file is empty"));
}
