// Tests safetensors files with false contents: none may crash the reader, take more than twice the
// file size plus 64 MiB, or take disproportionate time.
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/widened.hpp"
#include "tests/support/fuzz.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/safetensors_file.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Random = MutationRandom;

std::string with_length(const std::string& header, std::uint64_t length) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header;
}

/// Writes weights as another program does: several types, a scalar, metadata.
std::string good_file(const std::filesystem::path& path) {
  const std::vector<float> weights(48, 1.5f);
  const std::vector<std::uint16_t> halves(10, 0x3c00);
  const std::vector<std::int64_t> count = {7};
  REQUIRE(
      write_safetensors(path, {{"format", "pt"}},
                        {{"conv1.weight", "F32", {4, 3, 2, 2}, std::as_bytes(std::span{weights})},
                         {"bn1.num_batches_tracked", "I64", {}, std::as_bytes(std::span{count})},
                         {"fc.weight", "F16", {5, 2}, std::as_bytes(std::span{halves})}}));
  return read_bytes(path);
}

void change_a_digit(Random& random, std::string& file) {
  const auto at = file.find_first_of("0123456789", 8 + random_place(random, file) / 2);
  if (at != std::string::npos)
    file.replace(at, 1, std::to_string(random() * std::uint64_t{random()}));
}

void change_the_length(Random& random, std::string& file) {
  const auto length = random() % 2 ? std::uint64_t{random()} : std::uint64_t{random() % 512};
  std::memcpy(file.data(), &length, 8);
}

/// Adjusts the length as well, so that the reader parses the header.
void insert_json(Random& random, std::string& file) {
  constexpr std::array<std::string_view, 8> pieces = {
      "{", "[[[[", "\"a\":", "-1,", "1e999,", "\"__metadata__\":{},", "\"\\ud800\"", "null"};
  file.insert(8 + random_place(random, file) % 200, pieces[random() % pieces.size()]);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  length += random() % 8;
  std::memcpy(file.data(), &length, 8);
}

std::string mutated(std::string file, unsigned seed) {
  constexpr std::array<void (*)(Random&, std::string&), 7> ways = {
      flip_bytes,        cut,        repeat_a_piece, remove_a_piece, change_a_digit,
      change_the_length, insert_json};
  Random random{seed};
  ways[seed % ways.size()](random, file);
  return file;
}

/// Opens the file and reads every tensor of a weight type. Returns whether everything succeeded.
bool read_weights(const std::filesystem::path& path) {
  const auto reader = SafetensorsReader::open(path);
  if (!reader)
    return false;
  for (const auto& entry : reader->entries()) {
    std::vector<float> values(static_cast<std::size_t>(entry.shape.elements()));
    if (is_widened(entry.dtype) && !read_widened(*reader, entry, 0, values))
      return false;
  }
  return true;
}

/// Returns as many copies of `item` as fit in the longest header that is accepted.
std::string full_header(std::string begin, const std::function<std::string(int)>& item,
                        const std::string& end) {
  constexpr std::size_t longest = std::size_t{8} << 20;
  for (int i = 0;; ++i) {
    const auto next = (i == 0 ? "" : ",") + item(i);
    if (begin.size() + next.size() + end.size() > longest)
      return begin + end;
    begin += next;
  }
}

const std::function<std::string(int)> smallest_tensor = [](int i) {
  return '"' + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
};
const std::function<std::string(int)> most_dimensions = [](int i) {
  std::string shape = "0";
  for (int at = 1; at < 64; ++at)
    shape += ",0";
  return '"' + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" + shape +
         R"(],"data_offsets":[0,0]})";
};
const std::function<std::string(int)> pair = [](int i) {
  return '"' + std::to_string(i) + R"(":"")";
};
const std::function<std::string(int)> number = [](int) { return std::string{"1"}; };

} // namespace

TEST_CASE("mutated safetensors files are read or refused without a crash", "[fuzz]") {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const auto good = good_file(path);
  REQUIRE(read_weights(path));
  int refused = 0;
  for (unsigned seed = 0; seed < fuzzed_files(); ++seed) {
    write_bytes(path, mutated(good, seed));
    refused += read_weights(path) ? 0 : 1;
  }
  CHECK(refused >
        static_cast<int>(fuzzed_files() * 7 / 10)); // the others have other values or another name
}

TEST_CASE("any header takes at most twice the file plus 64 MiB of memory") {
  if (is_sanitized())
    SKIP("sanitizers need memory of their own");
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  for (const auto& header :
       {full_header("{", smallest_tensor, "}"), full_header("{", most_dimensions, "}"),
        full_header(R"({"__metadata__":{)", pair, "}}"),
        full_header(R"({"x":{"shape":[)", number, "]}}"),
        full_header(
            "{", [](int) { return std::string{"["}; }, "}")}) {
    const auto file = with_length(header, header.size());
    write_bytes(path, file);
    CHECK(memory_of([&] { static_cast<void>(read_weights(path)); }) <=
          2 * file.size() + (std::size_t{64} << 20));
  }
}

TEST_CASE("16-bit values are cast to f32 in at most twice the file's size") {
  if (is_sanitized())
    SKIP("sanitizers need memory of their own");
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const std::vector<std::uint16_t> halves(std::size_t{48} << 20, 0x3c00);
  REQUIRE(
      write_safetensors(path, {}, {{"w", "F16", {48, 1 << 20}, std::as_bytes(std::span{halves})}}));
  CHECK(memory_of([&] { static_cast<void>(read_weights(path)); }) <=
        2 * std::filesystem::file_size(path) + (std::size_t{64} << 20));
}

TEST_CASE("a header that states a huge size takes no memory") {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  write_bytes(path, with_length("{}", std::uint64_t{1} << 62));
  CHECK_FALSE(SafetensorsReader::open(path));
  write_bytes(path, with_length("{}", 9 << 20));
  std::filesystem::resize_file(path, std::uintmax_t{20} << 20);
  CHECK(SafetensorsReader::open(path).error().message.ends_with(
      "a header of 9437184 bytes exceeds the limit of 8388608 bytes"));
}

// If each tensor were compared with all others, a header of twice the length would take four times
// as long.
TEST_CASE("the longest headers are read in seconds") {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const auto header = full_header("{", smallest_tensor, "}");
  write_bytes(path, with_length(header, header.size()));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(read_weights(path));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
}
