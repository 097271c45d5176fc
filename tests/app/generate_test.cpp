// troupe generate, as a user runs it.
#include "program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <string>

using namespace troupe::testing;

namespace {

/// A model of bytes that has learned for one step.
class TinyModel {
public:
  TinyModel() {
    write_bytes(folder_ / "text.txt", std::string(2000, 'a') + std::string(2000, 'b'));
    write_bytes(folder_ / "tiny.yaml",
                "run: {name: tiny, output: " + folder_.path().string() +
                    "}\n"
                    "model: {name: gpt2-mini, layers: 1, width: 16, heads: 2, positions: 64}\n"
                    "data: {dataset: text, root: " +
                    (folder_ / "text.txt").string() +
                    ", sequence_length: 16, batch_size: 4}\n"
                    "train: {max_steps: 1}\n"
                    "devices: {kind: cpu}\n"
                    "metrics: {listen: 'off'}\n");
    const auto trained = troupe_program("train --quiet " + (folder_ / "tiny.yaml").string());
    INFO(trained.err);
    REQUIRE(trained.code == 0);
  }

  std::string path() const { return (folder_ / "tiny").string(); }
  std::string prompt() const {
    write_bytes(folder_ / "prompt", "abc");
    return (folder_ / "prompt").string();
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(TinyModel, "generate takes its prompt from the command line, standard input, or "
                            "begins a document") {
  const auto of_words = troupe_program("generate " + path() + " abc --json --tokens 5");
  const auto of_input = troupe_program("generate " + path() + " - --json --tokens 5 <" + prompt());
  const auto of_nothing = troupe_program("generate " + path() + " --json --tokens 5");
  for (const auto* outcome : {&of_words, &of_input, &of_nothing}) {
    INFO(outcome->err);
    REQUIRE(outcome->code == 0);
  }
  const auto words = nlohmann::json::parse(of_words.out);
  const auto input = nlohmann::json::parse(of_input.out);
  CHECK(words.at("prompt") == "abc");
  CHECK(words.at("prompt_tokens") == nlohmann::json{97, 98, 99});
  CHECK(input.at("prompt") == "abc");
  CHECK(input.at("text") == words.at("text"));
  CHECK(nlohmann::json::parse(of_nothing.out).at("prompt_tokens") == nlohmann::json{256});
}

TEST_CASE_METHOD(TinyModel, "generate says that standard output is full") {
  const auto outcome = troupe_program("generate " + path() + " a >/dev/full; echo $?");
  CHECK(outcome.out.starts_with("1"));
}

TEST_CASE("generate refuses a prompt without an end") {
  const auto outcome = troupe_program("generate runs/nothing -", "yes |");
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("more than the 67108864 bytes") != std::string::npos);
}

TEST_CASE("generate refuses options that make no sense, and names them") {
  for (const std::string option :
       {"--temperature -1", "--temperature nan", "--temperature inf", "--temperature 1001",
        "--top-k -1", "--top-k 1.5", "--top-k 99999999999", "--top-p 2", "--top-p nan",
        "--top-p -0.1", "--top-p inf", "--tokens 0", "--seed x", "--seed -1"}) {
    INFO(option);
    const auto outcome = troupe_program("generate runs/nothing a " + option);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(option.substr(0, option.find(' '))) != std::string::npos);
  }
}
