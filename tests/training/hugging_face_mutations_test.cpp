// Tests JSON files of Hugging Face folders, damaged at every position: the result is the model or
// an error.
#include "core/escape.hpp"
#include "tests/support/fuzz.hpp"
#include "tests/support/mutations.hpp"
#include "tests/training/hugging_face_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// One file of a folder, which is overwritten many times.
class Damaged {
public:
  Damaged(const HuggingFaceFolder& made, const char* name)
      : made_{made}, path_{made.folder / name}, whole_{read_bytes(path_)} {}

  void end_anywhere() const {
    for (std::size_t length = 0; length < whole_.size(); ++length)
      check(whole_.substr(0, length));
  }
  void flip_every_byte() const {
    for (std::size_t at = 0; at < whole_.size(); ++at)
      for (const unsigned bits : {0x01u, 0x80u}) {
        auto flipped = whole_;
        flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ bits);
        check(flipped);
      }
  }
  void change_at_random(unsigned seed) const {
    MutationRandom random{seed};
    constexpr std::array changes = {flip_bytes, cut, repeat_a_piece, remove_a_piece,
                                    overwrite_a_number};
    for (unsigned i = 0; i < fuzzed_files(); ++i) {
      auto text = whole_;
      for (auto times = 1 + random() % 3; times-- > 0;)
        changes[random() % changes.size()](random, text);
      check(text);
    }
  }

private:
  /// Checks that the whole model opens, or that a short error names a file of the folder.
  void check(const std::string& text) const {
    write_bytes(path_, text);
    const auto opened = made_.open();
    CAPTURE(escaped(text));
    if (opened) {
      CHECK(opened->state->header().tensors.size() == made_.values.size());
      return;
    }
    const auto& message = opened.error().message;
    CAPTURE(message);
    CHECK(opened.error().exit_code() == 2);
    CHECK(message.starts_with("model.pretrained: " + made_.folder.path().string()));
    CHECK(message.size() < 4000);
    CHECK(std::ranges::none_of(
        message, [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; }));
  }

  const HuggingFaceFolder& made_;
  std::filesystem::path path_;
  std::string whole_;
};

} // namespace

TEST_CASE("a config.json damaged anywhere is read or refused") {
  const std::string name = GENERATE("gpt2-mini", "llama-mini");
  const HuggingFaceFolder made{small_language_config(name)};
  made.write();
  const Damaged config{made, "config.json"};
  SECTION("truncated anywhere") {
    config.end_anywhere();
  }
  SECTION("any byte changed") {
    config.flip_every_byte();
  }
  SECTION("changed at random") {
    config.change_at_random(1);
  }
}

TEST_CASE("a model.safetensors.index.json damaged anywhere is read or refused") {
  const HuggingFaceFolder made{small_language_config("llama-mini")};
  made.write_shards();
  const Damaged index{made, "model.safetensors.index.json"};
  SECTION("truncated anywhere") {
    index.end_anywhere();
  }
  SECTION("any byte changed") {
    index.flip_every_byte();
  }
  SECTION("changed at random") {
    index.change_at_random(2);
  }
}
