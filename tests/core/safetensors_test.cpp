#include "core/checkpoint/safetensors.hpp"
#include "tests/support/safetensors_file.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstring>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span{values});
}

std::string with_length(const std::string& header, std::string_view data = {}) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string{data};
}

/// Opens the file and, if that succeeds, reads all of it, as for a damaged file.
Status read_all(const std::filesystem::path& path) {
  const auto reader = SafetensorsReader::open(path);
  if (!reader)
    return failure(reader.error());
  return reader->scan([](auto) {});
}

/// Returns the values of an F32 tensor.
std::vector<float> values_of(const SafetensorsReader& reader, const SafetensorsEntry& entry) {
  std::vector<float> values((entry.end - entry.begin) / sizeof(float));
  REQUIRE(reader.read(entry.begin, std::as_writable_bytes(std::span{values})));
  return values;
}

/// "1,1,1"
std::string listed(const std::string& item, int times) {
  std::string list = item;
  for (int i = 1; i < times; ++i)
    list += "," + item;
  return list;
}

std::string sample_file(const std::filesystem::path& path) {
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> count = {7};
  REQUIRE(write_safetensors(path, {{"format", "pt"}, {"made", "by a \"test\""}},
                            {{"fc.weight", "F32", {2, 3}, bytes_of(weights)},
                             {"count", "I64", {}, bytes_of(count)},
                             {"empty", "F32", {0, 4}, {}}}));
  return read_bytes(path);
}

} // namespace

TEST_CASE("safetensors are read back as they were written, wide elements first") {
  const ScratchFolder folder;
  sample_file(folder / "a.safetensors");
  const auto reader = SafetensorsReader::open(folder / "a.safetensors");
  REQUIRE(reader);
  CHECK(reader->metadata() ==
        std::map<std::string, std::string>{{"format", "pt"}, {"made", "by a \"test\""}});
  CHECK(reader->header().size() % 8 == 0);
  REQUIRE(reader->entries().size() == 3);
  CHECK(reader->entries()[0].name == "count");
  CHECK(reader->entries()[0].shape == Shape{});

  std::size_t seen = 0;
  REQUIRE(reader->scan([&](auto piece) { seen += piece.size(); }));
  CHECK(seen == 8 + 24);
  for (const auto& entry : reader->entries())
    if (entry.name == "fc.weight") {
      CHECK(entry.dtype == "F32");
      CHECK(entry.shape == Shape{2, 3});
      CHECK(values_of(*reader, entry) == std::vector<float>{1, 2, 3, 4, 5, 6});
    }
}

// Made by safetensors 0.8 for PyTorch 2.14:
// save_file({"a": torch.arange(6.).reshape(2, 3), "n": torch.tensor(3),
//            "h": torch.ones(3, dtype=torch.bfloat16)}, path, {"format": "pt"})
TEST_CASE("a file written by PyTorch is read") {
  const auto reader =
      SafetensorsReader::open(source_tree() / "tests/fixtures/from_torch.safetensors");
  REQUIRE(reader);
  CHECK(reader->metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  REQUIRE(reader->entries().size() == 3);
  for (const auto& entry : reader->entries()) {
    if (entry.name == "a") {
      CHECK(entry.shape == Shape{2, 3});
      CHECK(values_of(*reader, entry) == std::vector<float>{0, 1, 2, 3, 4, 5});
    }
    if (entry.name == "n")
      CHECK((entry.dtype == "I64" && entry.shape.rank() == 0));
    if (entry.name == "h")
      CHECK((entry.dtype == "BF16" && entry.end - entry.begin == 6));
  }
}

TEST_CASE("inconsistent tensors are not written") {
  const ScratchFolder folder;
  const std::vector<float> two = {1, 2};
  const auto path = folder / "a.safetensors";
  CHECK_FALSE(write_safetensors(path, {}, {{"x", "F32", {3}, bytes_of(two)}}));
  CHECK_FALSE(write_safetensors(path, {}, {{"x", "F33", {2}, bytes_of(two)}}));
  CHECK_FALSE(write_safetensors(path, {}, {{"__metadata__", "F32", {2}, bytes_of(two)}}));
  CHECK_FALSE(write_safetensors(path, {}, {{"\xff", "F32", {2}, bytes_of(two)}}));
  CHECK_FALSE(write_safetensors(
      path, {}, {{"x", "F32", {2}, bytes_of(two)}, {"x", "F32", {2}, bytes_of(two)}}));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("an invalid safetensors file is refused with its name and the reason") {
  struct Wrong {
    std::string bytes, message;
  };
  const auto tensor = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return R"({"x":{"dtype":)" + std::string{dtype} + R"(,"shape":)" + std::string{shape} +
           R"(,"data_offsets":)" + std::string{offsets} + "}}";
  };
  const auto wrong = GENERATE_COPY(values<Wrong>({
      {"", "too few"},
      {"1234567", "too few"},
      {std::string(8, '\xff'), "does not fit"},
      {with_length("{}").substr(0, 9), "does not fit"},
      {with_length(""), "not JSON"},
      {with_length("nonsense"), "not JSON"},
      {with_length("[]"), "not a JSON object"},
      {with_length("{\"\xff\":1}"), "not JSON"},
      {with_length("{\"__metadata__\":{},}"),
       "not JSON: error at byte 20"}, // without the JSON library's wording
      {with_length(std::string(200'000, '[')), "not a JSON object"},
      {with_length("{\"x\":{\"shape\":" + std::string(200'000, '[')), "nested too deeply"},
      {with_length("{\"x\":{\"shape\":[{"), "nested too deeply"},
      {with_length(R"({"x":{"dtype":"F32","dtype":"F32"}})"), "'dtype' twice"},
      {with_length(R"({"x":{"dtype":"F32","place":1}})"), "entry is not"},
      {with_length(R"({"__metadata__":{},"__metadata__":{}})"), "'__metadata__' twice"},
      {with_length(R"({"__metadata__":{"a":{}}})"), "'a' is not a string"},
      {with_length(R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                   R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
       "'x' twice"},
      {with_length(R"({"x":{"dtype":"F32","shape":[)" + std::string(2000, '1') + "]}}"),
       "not JSON"},
      {with_length(tensor("\"F32\"", "[" + listed("1", 65) + "]", "[0,4]"), "1234"),
       "more than 64 numbers"},
      {with_length("{\"" + std::string(300, 'x') + "\\u001b\":3}"), std::string(200, 'x') + "...'"},
      {with_length(R"({"__metadata__":3})"), "__metadata__ is not an object"},
      {with_length(R"({"__metadata__":{"a":1}})"), "'a' is not a string"},
      {with_length(R"({"__metadata__":{"a":"1","a":"2"}})"), "'a' twice"},
      {with_length(R"({"x":3})"), "entry is not"},
      {with_length(R"({"x":{"dtype":"F32","shape":[]}})"), "entry is not"},
      {with_length(tensor("3", "[]", "[0,4]"), "1234"), "dtype is not a string"},
      {with_length(tensor("\"F32\"", "4", "[0,4]"), "1234"), "shape not an array"},
      {with_length(tensor("\"F32\"", "[1]", "[0]"), "1234"), "not a pair"},
      {with_length(tensor("\"Q7\"", "[1]", "[0,4]"), "1234"), "unknown dtype 'Q7'"},
      {with_length(tensor("\"F32\"", "[-1]", "[0,4]"), "1234"), "not a whole number"},
      {with_length(tensor("\"F32\"", "[1.5]", "[0,4]"), "1234"), "not a whole number"},
      {with_length(tensor("\"F32\"", "[4611686018427387904,4]", "[0,0]")), "out of range"},
      {with_length(tensor("\"F32\"", "[2]", "[0,4]"), "1234"), "do not match the 8 bytes"},
      {with_length(tensor("\"F32\"", "[1]", "[4,0]"), "1234"), "do not match"},
      {with_length(tensor("\"F32\"", "[1]", "[0,4]"), "123"), "(truncated)"},
      {with_length(tensor("\"F32\"", "[1]", "[0,4]"), "12345"), "5 bytes of data"},
      {with_length(tensor("\"F32\"", "[1]", "[4,8]"), "12345678"), "there is a gap"},
      {with_length(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                   "123"),
       "overlap"},
  }));
  const ScratchFolder folder;
  const auto path = folder / "wrong.safetensors";
  write_bytes(path, wrong.bytes);
  const auto reader = SafetensorsReader::open(path);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == Errc::corrupt);
  CHECK_THAT(reader.error().message, ContainsSubstring(wrong.message));
  CHECK_THAT(reader.error().message, ContainsSubstring(path.string()));
}

// A search of all entries for each of them would take minutes.
TEST_CASE("a file of 100,000 tensors is read at once") {
  const ScratchFolder folder;
  const auto path = folder / "many.safetensors";
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i)
    header += (i == 0 ? "" : ",") + ("\"t" + std::to_string(i) + "\"") +
              R"(:{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  write_bytes(path, with_length(header + "}"));
  const auto reader = SafetensorsReader::open(path);
  REQUIRE(reader);
  CHECK(reader->entries().size() == 100'000);
}

TEST_CASE("a path that is not a file is an i/o error") {
  const ScratchFolder folder;
  CHECK(SafetensorsReader::open(folder / "absent").error().code == Errc::io);
  CHECK(SafetensorsReader::open(folder.path()).error().code == Errc::io);
}

TEST_CASE("a file that shrinks after it was opened gives an error") {
  const ScratchFolder folder;
  sample_file(folder / "a.safetensors");
  const auto reader = SafetensorsReader::open(folder / "a.safetensors");
  REQUIRE(reader);
  std::filesystem::resize_file(folder / "a.safetensors", reader->header().size() + 3);
  CHECK(reader->scan([](auto) {}).error().code == Errc::corrupt);
}

// Any outcome is allowed (a flipped bit of a number in the data is a valid file), but the reader
// must neither crash nor run away, which the sanitizers detect.
TEST_CASE("any flipped byte and any truncation is handled without a crash") {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const auto good = sample_file(path);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x20', '\x80', '\xff'}) {
      write_byte(path, i, static_cast<char>(good[i] ^ flip));
      refused += !read_all(path);
    }
    write_byte(path, i, good[i]);
  }
  CHECK(refused > good.size());
  CHECK(read_all(path));
  for (auto size = good.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    CHECK_FALSE(read_all(path));
  }
}

TEST_CASE("a git-lfs pointer instead of a weights file is reported as one") {
  const ScratchFolder folder;
  const auto path = folder / "model.safetensors";
  write_bytes(path, "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n");
  const auto reader = SafetensorsReader::open(path);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().exit_code() == 2);
  CHECK_THAT(reader.error().message,
             ContainsSubstring("model.safetensors: this is a git-lfs pointer"));
}
