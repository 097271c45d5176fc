#include "core/config/config.hpp"
#include "data/batch.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/text_source.hpp"
#include "data/tokens/token_dataset.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <array>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Ids = std::vector<TokenId>;

class Texts {
public:
  Texts() {
    config.data.dataset = "text";
    config.data.root = (folder_ / "texts").string();
    config.data.batch_size = 2;
    config.data.eval_batch_size = 2;
    config.data.sequence_length = 3;
    config.data.shuffle = false;
    config.data.validation.share = 0;
    write("b.txt", "klm\nop"); // read second
    write("a.txt", "abcdefghij");
  }
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((root() / name).parent_path());
    write_bytes(root() / name, text);
  }
  std::filesystem::path root() const { return config.data.root; }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  struct Rows {
    Ids tokens, targets;
  };
  /// Fills a batch of two.
  static Rows fill(const BatchAssembler& assembler, Position at) {
    const auto length = static_cast<std::size_t>(assembler.adapter().fields()[0].shape.elements());
    Rows rows{Ids(2 * length), Ids(2 * length)};
    REQUIRE(assembler.fill(at, {},
                           std::array{std::as_writable_bytes(std::span{rows.tokens}),
                                      std::as_writable_bytes(std::span{rows.targets})}));
    return rows;
  }
  Ids all_tokens() const {
    const auto opened = open_text(config.data, Split::train).value();
    Ids ids(static_cast<std::size_t>(opened->file().traits().tokens));
    REQUIRE(opened->file().read(0, ids));
    return ids;
  }
  std::string refusal(Split split = Split::train) const {
    const auto opened = open_adapter(config, split);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }

  Config config;

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(Texts,
                 "windows are tokens and their successors, with document ends between texts") {
  const auto assembler = training_batches(config).value();
  CHECK(assembler.dataset().size() == 5); // 18 tokens
  const auto tensors = assembler.tensors({}).value();
  REQUIRE(tensors.size() == 2);
  CHECK((tensors[0].name == "tokens" && tensors[0].dtype == DType::i32));
  CHECK(tensors[0].shape == Shape{2, 3});
  CHECK((tensors[1].name == "targets" && tensors[1].dtype == DType::i32));
  CHECK(tensors[1].shape == Shape{2, 3});
  const auto first = fill(assembler, {0, 0});
  CHECK(first.tokens == Ids{'a', 'b', 'c', 'd', 'e', 'f'});
  CHECK(first.targets == Ids{'b', 'c', 'd', 'e', 'f', 'g'});
  const auto second = fill(assembler, {0, 1});
  CHECK(second.tokens == Ids{'g', 'h', 'i', 'j', 256, 'k'});
  CHECK(second.targets == Ids{'h', 'i', 'j', 256, 'k', 'l'});
}

TEST_CASE_METHOD(Texts, "the last part of the windows is for evaluation and not for training") {
  config.data.validation.share = 0.4;
  CHECK(training_batches(config)->dataset().size() == 3);
  const auto evaluation = evaluation_batches(config).value();
  CHECK(evaluation.dataset().size() == 2);
  CHECK(fill(evaluation, {0, 0}).tokens == Ids{'j', 256, 'k', 'l', 'm', '\n'});
  config.data.validation.share = 0.01;
  CHECK(evaluation_batches(config)->dataset().size() == 1);
  config.data.limit = 2;
  CHECK(training_batches(config)->dataset().size() == 2);
}

TEST_CASE_METHOD(Texts,
                 "separate files are evaluated if given, and padding is ignored by the loss") {
  write_bytes(path("held.txt"), "0123456789");
  config.data.validation.share = 0.4;
  config.data.validation.path = path("held.txt").string();
  CHECK(training_batches(config)->dataset().size() == 5);
  const auto evaluation = evaluation_batches(config).value();
  CHECK(evaluation.dataset().size() == 3);
  const auto rows = fill(evaluation, {0, 1});
  CHECK(rows.tokens == Ids{'6', '7', '8', 0, 0, 0});
  CHECK(rows.targets == Ids{'7', '8', '9', -1, -1, -1});
}

TEST_CASE_METHOD(Texts,
                 "an epoch contains every window once, in an order that depends on its number") {
  config.data.shuffle = true;
  config.data.batch_size = 1;
  write("c.txt", std::string(60, 'x'));
  const auto assembler = training_batches(config).value();
  const auto begins = [&](std::int64_t epoch) {
    std::vector<std::int64_t> samples(1), all;
    for (std::int64_t step = 0; step < assembler.dataset().size(); ++step) {
      REQUIRE(assembler.sampler().indices({epoch, step}, {}, samples));
      all.push_back(samples[0]);
    }
    return all;
  };
  auto first = begins(0);
  CHECK(first == begins(0));
  CHECK(first != begins(1));
  std::ranges::sort(first);
  for (std::size_t i = 0; i < first.size(); ++i)
    CHECK(first[i] == static_cast<std::int64_t>(i));
}

TEST_CASE_METHOD(Texts,
                 "folders are read in order of names, without hidden files and token files") {
  write("sub/z.txt", "Z");
  write(".hidden", "no");
  write(".git/x", "no");
  write("old.tokens", "no");
  write("a/first.txt", "A");
  config.data.sequence_length = 1;
  CHECK(all_tokens() == Ids{'a', 'b', 'c', 'd', 'e', 'f',  'g', 'h', 'i', 'j', 256,
                            'A', 256, 'k', 'l', 'm', '\n', 'o', 'p', 256, 'Z', 256});
}

TEST_CASE_METHOD(Texts, "each JSON line is a document") {
  config.data.root = path("a.jsonl").string();
  config.data.sequence_length = 1;
  write_bytes(config.data.root, "{\"text\": \"a\\n\\u00e9\", \"b\": 1}\n\n{\"text\": \"\"}\r\n"
                                "{\"text\": \"c\"}");
  CHECK(all_tokens() == Ids{'a', '\n', 0xC3, 0xA9, 256, 256, 'c', 256});
  config.data.text_key = "body";
  CHECK_THAT(refusal(), ContainsSubstring("a.jsonl:1: not a JSON object with the text body"));
  write_bytes(config.data.root, "{\"body\": \"a\"}\n{\"body\": 5}\n");
  CHECK_THAT(refusal(), ContainsSubstring("a.jsonl:2:"));
  write_bytes(config.data.root, "{\"body\": \"a\"}\n\n{\"body\"\n");
  CHECK_THAT(refusal(), ContainsSubstring("a.jsonl:3: not JSON"));
}

TEST_CASE_METHOD(Texts, "a text that is not UTF-8 is read as bytes, but JSON lines are refused") {
  config.data.sequence_length = 1;
  write("a.txt", std::string_view{"a\xff\0\xc3", 4});
  write("b.txt", "");
  CHECK(all_tokens() == Ids{'a', 255, 0, 0xC3, 256});
  config.data.root = path("a.jsonl").string();
  write_bytes(config.data.root, std::string_view{"{\"text\": \"a\"}\n{\"text\": \"\xff\"}\n"});
  CHECK_THAT(refusal(), ContainsSubstring("a.jsonl:2: not JSON"));
}

TEST_CASE_METHOD(Texts, "texts are tokenized once, and again when they or the tokenizer change") {
  const auto cache = path("texts.tokens");
  const auto first = training_batches(config)->dataset().fingerprint();
  const auto time = std::filesystem::last_write_time(cache);
  CHECK(training_batches(config)->dataset().fingerprint() == first);
  CHECK(std::filesystem::last_write_time(cache) == time);
  write("b.txt", "KLM\nOPQ");
  CHECK(training_batches(config)->dataset().fingerprint() != first);
  write("b.txt", "klm\nop");
  CHECK(training_batches(config)->dataset().fingerprint() == first);
  write_bytes(cache, "damaged");
  CHECK(training_batches(config)->dataset().fingerprint() == first);
  config.data.sequence_length = 2;
  CHECK(training_batches(config)->dataset().fingerprint() != first);
}

TEST_CASE_METHOD(Texts,
                 "token files are in the configured folder, or are the data set themselves") {
  const auto first = training_batches(config)->dataset().fingerprint();
  config.data.tokenizer.cache = path("cache/of/tokens").string();
  std::filesystem::remove(path("texts.tokens"));
  CHECK(training_batches(config)->dataset().fingerprint() == first);
  CHECK_FALSE(std::filesystem::exists(path("texts.tokens")));
  const std::filesystem::directory_iterator files{path("cache/of/tokens")};
  config.data.root = files->path().string();
  CHECK(training_batches(config)->dataset().fingerprint() == first);
  write_bytes(path("tokenizer.json"), "{}");
  config.data.tokenizer.path = path("tokenizer.json").string();
  CHECK_THAT(refusal(), ContainsSubstring("tokenizer.json"));
}

TEST_CASE_METHOD(Texts, "a long text is read in chunks without changing its tokens") {
  std::string text;
  for (int i = 0; text.size() < (std::size_t{9} << 20); ++i)
    text += "line " + std::to_string(i) + (i % 3 == 0 ? "!\n" : "\n");
  write("a.txt", text);
  write("b.txt", "");
  const auto ids = all_tokens();
  REQUIRE(ids.size() == text.size() + 1);
  CHECK(std::equal(text.begin(), text.end(), ids.begin()));
  CHECK(ids.back() == 256);
}

TEST_CASE_METHOD(Texts, "a text is read in small chunks with any line ending") {
  const auto largest_chunk = [this](const std::string& line, FindCut find_cut) {
    std::string text;
    while (text.size() < (std::size_t{9} << 20))
      text += line;
    write("long.txt", text);
    std::size_t largest = 0;
    std::string read;
    REQUIRE(read_documents({root() / "long.txt", "long.txt"}, "", find_cut,
                           [&](std::string_view piece, bool) -> Status {
                             largest = std::max(largest, piece.size());
                             read += piece;
                             return {};
                           }));
    CHECK(read == text);
    return largest;
  };
  constexpr std::size_t small = (std::size_t{4} << 20) + 100;
  write_bytes(path("merges.txt"), "a b\n");
  for (const auto split : {TokenizerSplit::gpt2, TokenizerSplit::cl100k}) {
    auto vocabulary = troupe::testing::byte_vocabulary();
    vocabulary["ab"] = 256;
    write_bytes(path("vocab.json"), vocabulary.dump());
    const auto find_cut = cut_for(*open_tokenizer(path("vocab.json").string(), split).value());
    for (const auto* const line : {"ab\n", "ab\r\n", "ab.\n", "ab.\r\n", "ab \n", "\u3002\r\n"})
      CHECK(largest_chunk(line, find_cut) <= small);
  }
  CHECK(largest_chunk("ab", cut_for(*open_tokenizer("bytes").value())) <= small);
}

TEST_CASE_METHOD(Texts, "a text that changes with equal size and time is tokenized again") {
  const auto first = training_batches(config)->dataset().fingerprint();
  const auto file = root() / "b.txt";
  const auto time = std::filesystem::last_write_time(file);
  write("b.txt", "KLM\nOP");
  std::filesystem::last_write_time(file, time);
  CHECK(training_batches(config)->dataset().fingerprint() != first);
}

TEST_CASE_METHOD(Texts, "a text that changes only in time is not tokenized again") {
  REQUIRE(training_batches(config));
  const auto made = std::filesystem::last_write_time(path("texts.tokens"));
  std::filesystem::last_write_time(root() / "b.txt", {});
  REQUIRE(training_batches(config));
  CHECK(std::filesystem::last_write_time(path("texts.tokens")) == made);
}

TEST_CASE_METHOD(Texts, "linked folders of texts are read once, and cycles are not followed") {
  std::filesystem::create_directories(path("elsewhere"));
  write_bytes(path("elsewhere/z.txt"), "Z");
  std::filesystem::create_directory_symlink(path("elsewhere"), root() / "linked");
  std::filesystem::create_directory_symlink(path("elsewhere"), root() / "linked_again");
  std::filesystem::create_directory_symlink(root(), root() / "loop");
  config.data.sequence_length = 1;
  CHECK(all_tokens() == Ids{'a', 'b', 'c', 'd', 'e',  'f', 'g', 'h', 'i', 'j',
                            256, 'k', 'l', 'm', '\n', 'o', 'p', 256, 'Z', 256});
}

TEST_CASE_METHOD(Texts, "skipped hidden files and token files are counted") {
  write(".hidden", "no");
  write(".git/x", "no");
  write("old.TOKENS", "no");
  const auto found = find_texts(root()).value();
  CHECK(found.files.size() == 2);
  CHECK(found.left_out.hidden == 2);
  CHECK(found.left_out.unread_text() == "1 file is not read: 1 .tokens");
}

TEST_CASE_METHOD(Texts, "JSON lines are recognized by their extension in any case") {
  config.data.root = path("a.JSONL").string();
  config.data.sequence_length = 1;
  write_bytes(config.data.root, "{\"text\": \"ab\"}\n");
  CHECK(all_tokens() == Ids{'a', 'b', 256});
}

TEST_CASE_METHOD(Texts, "a file that is not plain text is refused with its type") {
  const auto refused = [this](std::string_view content) {
    write("b.txt", content);
    return refusal();
  };
  CHECK_THAT(refused("\x1f\x8b\x08"), ContainsSubstring("b.txt: this is a gzip file, not plain "
                                                        "text: unpack it first"));
  CHECK_THAT(refused("PAR1\x15"), ContainsSubstring("a Parquet file"));
  CHECK_THAT(refused("PK\x03\x04"), ContainsSubstring("a ZIP archive"));
  CHECK_THAT(refused(std::string_view{"\xff\xfe"
                                      "a\0",
                                      4}),
             ContainsSubstring("text in UTF-16, not plain text: convert it to UTF-8 first"));
  CHECK_THAT(refused(std::string_view{"\xfe\xff"
                                      "\0a",
                                      4}),
             ContainsSubstring("text in UTF-16"));
  CHECK_THAT(refused(std::string_view{"\xff\xfe\0\0", 4}), ContainsSubstring("text in UTF-32"));
  CHECK_THAT(refused("\x89PNG\r\n\x1a\n"), ContainsSubstring("a PNG image"));
  CHECK_THAT(refused("\xff\xd8\xff\xe0"), ContainsSubstring("a JPEG image"));
  CHECK_THAT(refused("RIFF1234WEBPVP8 "), ContainsSubstring("a WebP image"));
  CHECK_THAT(refused("TROUPETK"), ContainsSubstring("a file of tokens"));
  CHECK_THAT(refused("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n"),
             ContainsSubstring("b.txt: this is a git-lfs pointer"));
}

TEST_CASE_METHOD(Texts, "a text without enough tokens for a window is refused") {
  CHECK_THAT(refusal(Split::test), ContainsSubstring("leaves none for evaluation"));
  config.data.sequence_length = 100;
  CHECK_THAT(refusal(), ContainsSubstring("its 18 tokens make 0 windows of 100"));
  config.data.validation.share = 0.1;
  CHECK_THAT(refusal(Split::test), ContainsSubstring("leaves none for evaluation"));
  config.data.root = path("missing").string();
  CHECK_THAT(refusal(), ContainsSubstring("there is no such file or folder of texts"));
  std::filesystem::create_directories(path("empty"));
  config.data.root = path("empty").string();
  CHECK_THAT(refusal(), ContainsSubstring("this folder contains no texts"));
}
