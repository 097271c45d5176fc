// Tests manifests and descriptions of shards with false contents.
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/fuzz.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstring>
#include <string>
#include <tuple>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Random = MutationRandom;

void change_any_digit(Random& random, std::string& text) {
  const auto at = text.find_first_of("0123456789", random_place(random, text));
  if (at != std::string::npos)
    text.replace(at, 1, std::to_string(random() * std::uint64_t{random()}));
}

void insert_brackets(Random& random, std::string& text) {
  constexpr std::array<std::string_view, 6> pieces = {
      "{", "[[[[", "\"a\":", "-1,", "1e999,", "null"};
  text.insert(random_place(random, text), pieces[random() % pieces.size()]);
}

std::string mutated_text(std::string text, unsigned seed) {
  constexpr std::array<void (*)(Random&, std::string&), 6> ways = {
      flip_bytes, cut, repeat_a_piece, remove_a_piece, change_any_digit, insert_brackets};
  Random random{seed};
  ways[seed % ways.size()](random, text);
  return text;
}

const std::vector<float> sixteen(16, 1.5F);

/// One tensor of 2x3x2 elements in a blocked layout, all in one file.
TensorPart in_blocks() {
  return {.name = "w",
          .shape = {2, 3, 2},
          .stored = 16,
          .elements = 16,
          .layout = BlockedLayout{.strides = {8, 4, 2}, .inner = {{1, 2}}}};
}

bool is_read(const std::filesystem::path& path) {
  const auto state = open_state(path);
  return state && read_whole(**state);
}

} // namespace

TEST_CASE("mutated manifests are read or refused without a crash", "[fuzz]") {
  const ScratchFolder folder;
  const auto checkpoint = folder / "c";
  REQUIRE(write_checkpoint(
      checkpoint,
      {.step = 1, .metadata = {{"model", "x"}, {"seed", "1"}}, .tensors = {{"w", {16}, sixteen}}}));
  const auto path = checkpoint / manifest_name;
  const auto good = read_bytes(path);
  unsigned refused = 0;
  for (unsigned seed = 0; seed < fuzzed_files(); ++seed) {
    write_bytes(path, mutated_text(good, seed));
    refused += is_read(checkpoint) ? 0 : 1;
  }
  CHECK(refused > fuzzed_files() * 8 / 10); // the others only differ in white space
}

TEST_CASE("mutated shard descriptions are read or refused without a crash", "[fuzz]") {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const auto part = in_blocks();
  const auto good = to_string(part);
  unsigned refused = 0;
  for (unsigned seed = 0; seed < fuzzed_files(); ++seed) {
    const auto text = seed == 0 ? good : mutated_text(good, seed);
    // Text that is not UTF-8 is not written.
    const bool read = write_safetensors(path, {{part_key("w"), text}},
                                        {{"w", "F32", {16}, std::as_bytes(std::span{sixteen})}}) &&
                      is_read(path);
    CHECK((seed > 0 || read));
    refused += read ? 0 : 1;
  }
  CHECK(refused > fuzzed_files() * 6 / 10); // the others describe another order of the same memory
}

TEST_CASE("a file of shards takes memory for its actual size, not for the size that it states") {
  if (is_sanitized())
    SKIP("sanitizers need memory of their own");
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  for (const auto* text : {"1099511627776 0 of 1099511627776", "1048576x1048576 0 of 16 1,1",
                           "16 0 of 1099511627776 1", "1099511627776 0 of 16 0:0x1099511627776",
                           "0x1099511627776x256 0 of 16 1,1,1"}) {
    REQUIRE(write_safetensors(path, {{part_key("w"), text}},
                              {{"w", "F32", {16}, std::as_bytes(std::span{sixteen})}}));
    CHECK(memory_of([&] { std::ignore = is_read(path); }) < (std::size_t{64} << 20));
  }
}

TEST_CASE("the largest possible number of tensors takes at most twice the file plus 64 MiB") {
  if (is_sanitized())
    SKIP("sanitizers need memory of their own");
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  std::string header = "{";
  for (int i = 0; header.size() < (std::size_t{8} << 20) - 100; ++i)
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  header += "}";
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  file += header;
  write_bytes(path, file);
  CHECK(memory_of([&] { CHECK(open_state(path)); }) < 2 * file.size() + (std::size_t{64} << 20));
}
