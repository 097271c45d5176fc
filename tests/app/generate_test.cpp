// Tests troupe generate as a user runs it.
#include "tests/app/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

using namespace troupe::testing;

namespace {

/// A model of bytes after one training step.
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
  std::string text() const { return (folder_ / "text.txt").string(); }
  std::string prompt() const {
    write_bytes(folder_ / "prompt", "abc");
    return (folder_ / "prompt").string();
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(TinyModel,
                 "generate reads a prompt as an argument or from stdin, and needs none") {
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

TEST_CASE_METHOD(TinyModel, "generate and evaluate accept a Hugging Face folder like a run") {
  const auto exported = path() + "-exported";
  REQUIRE(troupe_program("export " + path() + " --format huggingface -o " + exported).code == 0);
  const auto of_run = troupe_program("generate " + path() + " abc --json --tokens 8");
  const auto of_folder = troupe_program("generate " + exported + " abc --json --tokens 8");
  INFO(of_folder.err);
  REQUIRE(of_folder.code == 0);
  CHECK(nlohmann::json::parse(of_folder.out).at("tokens") ==
        nlohmann::json::parse(of_run.out).at("tokens"));
  const auto evaluate = [&](const std::string& model) {
    return troupe_program("evaluate " + model + " --json --set data.sequence_length=16 " +
                          "--set data.eval_batch_size=8 --data " + text());
  };
  const auto score = evaluate(exported);
  INFO(score.err);
  REQUIRE(score.code == 0);
  CHECK(nlohmann::json::parse(score.out).at("loss") ==
        nlohmann::json::parse(evaluate(path()).out).at("loss"));
  const auto without = troupe_program("evaluate " + exported);
  CHECK(without.code == 2);
  CHECK(without.err.find("is a Hugging Face folder, which contains no texts; add --data TEXT") !=
        std::string::npos);
  const auto imported = troupe_program("config import huggingface " + exported);
  INFO(imported.err);
  CHECK(imported.code == 0);
  CHECK(imported.out.find("sequence_length: 64  # n_positions") != std::string::npos);
}

TEST_CASE_METHOD(TinyModel, "an invalid Hugging Face folder is reported before it is used") {
  const std::filesystem::path exported = path() + "-exported";
  REQUIRE(
      troupe_program("export " + path() + " --format huggingface -o " + exported.string()).code ==
      0);
  auto json = nlohmann::json::parse(read_bytes(exported / "config.json"));
  const auto generate = [&](const std::string& model) {
    write_bytes(exported / "config.json", json.dump());
    return troupe_program("generate " + model + " abc --tokens 2");
  };
  json["brand_new"] = 7;
  const auto unknown = generate(exported.string());
  CHECK(unknown.code == 0);
  CHECK(unknown.err.find("brand_new: warning: ignored: unknown key") != std::string::npos);
  json["alibi"] = true;
  const auto refused = generate(exported.string());
  CHECK(refused.code == 2);
  CHECK(refused.err.find("alibi: not supported") != std::string::npos);
  json.erase("alibi");
  const auto file = generate((exported / "model.safetensors").string());
  CHECK(file.code == 2);
  CHECK(file.err.find("pass the folder instead of the file") != std::string::npos);
  json["vocab_size"] = 50257;
  const auto other = generate(exported.string());
  CHECK(other.code == 2);
  CHECK(other.err.find("there is no tokenizer.json") != std::string::npos);
}

TEST_CASE_METHOD(TinyModel, "generate reports a full standard output") {
  const auto outcome = troupe_program("generate " + path() + " a >/dev/full; echo $?");
  CHECK(outcome.out.starts_with("1"));
}

TEST_CASE("generate refuses an endless prompt") {
  const auto outcome = troupe_program("generate runs/nothing -", "yes |");
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("standard input is longer than 64 MiB") != std::string::npos);
}

TEST_CASE("generate refuses invalid options by name") {
  for (const std::string option :
       {"--temperature -1", "--temperature nan", "--temperature inf", "--temperature 1001",
        "--top-k -1", "--top-k 1.5", "--top-k 99999999999", "--top-p 2", "--top-p nan",
        "--top-p -0.1", "--top-p inf", "--tokens 0", "--seed x", "--seed -1", "--seed 1e3",
        "--seed 18446744073709551616"}) {
    INFO(option);
    const auto outcome = troupe_program("generate runs/nothing a " + option);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(option.substr(0, option.find(' '))) != std::string::npos);
  }
}

TEST_CASE("help shows the range of each option as readable numbers") {
  const auto help = troupe_program("generate --help").out;
  CHECK(help.find("UINT in [0 - 18446744073709551615]") != std::string::npos);
  CHECK(help.find("FLOAT in [0 - 1000]") != std::string::npos);
  CHECK(help.find("e+") == std::string::npos);
}
