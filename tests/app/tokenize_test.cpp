// Tests troupe tokenize as a user runs it.
#include "tests/app/program.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe::testing;

namespace {

class Text {
public:
  Text() { write_bytes(path(), "abc\n"); }
  std::string path() const { return (folder_ / "a.txt").string(); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

private:
  ScratchFolder folder_;
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(Text, "tokenize counts tokens") {
  const auto outcome = troupe_program("tokenize " + path());
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, "1 document, 4 bytes"));
  CHECK(has(outcome.out, "5 tokens, vocabulary of 257 ids, 1.250 tokens per byte"));
  CHECK(has(outcome.out, "MB/s"));
}

TEST_CASE_METHOD(Text,
                 "tokenize prints the ids of each document on a line, also from standard input") {
  CHECK(troupe_program("tokenize --ids " + path() + " " + path()).out ==
        "97 98 99 10 256\n97 98 99 10 256\n");
  CHECK(troupe_program("tokenize --ids <" + path()).out == "97 98 99 10 256\n");
  CHECK(troupe_program("tokenize --ids - <" + path()).out == "97 98 99 10 256\n");
  const auto folder = troupe_program("tokenize </");
  CHECK(folder.code == 1);
  CHECK(has(folder.err, "standard input: cannot be read: Is a directory"));
  CHECK(troupe_program("tokenize </dev/null").out.starts_with("0 documents, 0 bytes\n0 tokens"));
}

TEST_CASE_METHOD(Text, "tokenize reads standard input as a stream, in bounded memory") {
  if (is_sanitized())
    return; // sanitizers use more address space than the limit
  const std::string limit = "ulimit -v 2000000; yes abcdefg | head -c ";
  const auto counts = [&](const std::string& arguments, const std::string& input) {
    return troupe_program(arguments, limit + input + " |");
  };
  const auto streamed = counts("tokenize", "500000000");
  CHECK(streamed.code == 0);
  CHECK(has(streamed.out, "1 document, 500000000 bytes"));
  const std::string without_line_ends = " | tr '\\n' ' '";
  CHECK(counts("tokenize", "300000000" + without_line_ends).code ==
        0); // bytes may be split anywhere
  auto vocabulary = troupe::testing::byte_vocabulary();
  vocabulary["ab"] = 256;
  write_bytes(path("vocab.json"), vocabulary.dump());
  write_bytes(path("merges.txt"), "a b\n");
  const auto endless =
      counts("tokenize --tokenizer " + path("vocab.json"), "9000000000" + without_line_ends);
  CHECK(endless.code == 2);
  CHECK(has(endless.err, "standard input: there is no line end within 260 MiB"));
}

TEST_CASE_METHOD(Text, "tokenize writes a token file, whose extension identifies it") {
  CHECK(troupe_program("tokenize " + path() + " -o " + path("a.tokens")).code == 0);
  CHECK(read_bytes(path("a.tokens")).starts_with("TROUPETK"));
  const auto refused = troupe_program("tokenize " + path() + " -o " + path("a.bin"));
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "does not end in .tokens"));
}

TEST_CASE_METHOD(Text, "tokenize reports what is wrong with a tokenizer or a text") {
  const auto tokenizer = troupe_program("tokenize --tokenizer " + path() + " " + path());
  CHECK(tokenizer.code == 2);
  CHECK(has(tokenizer.err, "is not a tokenizer; expected bytes, a folder with a tokenizer"));
  const auto text = troupe_program("tokenize " + path("missing"));
  CHECK(text.code == 2);
  CHECK(has(text.err, "there is no such file or folder of texts"));
}

TEST_CASE_METHOD(Text, "a model that does not read tokens is refused with the reason") {
  write_bytes(path("a.yaml"),
              "model: {name: linear}\ndata: {dataset: text, root: " + path() + "}\n");
  const auto outcome = troupe_program("config check " + path("a.yaml"));
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "linear does not read tokens"));
}
