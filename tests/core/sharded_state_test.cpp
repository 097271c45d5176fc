// Tests checkpoints whose tensors are sharded over several files.
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/nested_json.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vector>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A shard of "w", a 2x3 tensor that is stored transposed with a row of padding: 1 4, 2 5, 3 6, 0
/// 0.
TensorPart part(std::size_t first, std::size_t elements) {
  return {.name = "w",
          .shape = {2, 3},
          .stored = 8,
          .first = first,
          .elements = elements,
          .layout = BlockedLayout{.strides = {1, 2}, .inner = {}}};
}

const std::vector<float> stored = {1, 4, 2, 5, 3, 6, 0, 0};

struct Sharded {
  void add(const std::vector<TensorPart>& parts, const std::vector<float>& values) {
    auto writer =
        StateWriter::part(folder.path(), static_cast<int>(manifest.files.size()), 2, parts);
    REQUIRE(writer);
    REQUIRE(writer->append(values));
    manifest.files.push_back(writer->commit().value().front());
  }
  void add(std::size_t first, std::size_t elements) {
    add({part(first, elements)}, {stored.begin() + static_cast<std::ptrdiff_t>(first),
                                  stored.begin() + static_cast<std::ptrdiff_t>(first + elements)});
  }
  Result<StateSourcePtr> open() {
    REQUIRE(write_manifest(folder.path(), manifest));
    return open_state(folder.path());
  }
  std::string refusal() {
    const auto opened = open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Errc::corrupt);
    return opened.error().message;
  }

  ScratchFolder folder;
  Manifest manifest{.step = 5, .epoch = 1, .metadata = {{"seed", "1"}}, .files = {}};
};

} // namespace

TEST_CASE_METHOD(Sharded, "shards in several files are one tensor in canonical layout") {
  add(5, 3); // in any order
  add(0, 5);
  const auto state = open();
  REQUIRE(state);
  CHECK((*state)->header().step == 5);
  CHECK((*state)->header().metadata.at("seed") == "1");
  const auto whole = read_whole(**state);
  REQUIRE(whole);
  REQUIRE(whole->find("w"));
  CHECK(whole->find("w")->shape == Shape{2, 3});
  CHECK(std::ranges::equal(whole->find("w")->values, std::vector<float>{1, 2, 3, 4, 5, 6}));
  std::vector<float> some(2);
  REQUIRE((*state)->read(0, 3, some));
  CHECK(some == std::vector<float>{4, 5});
}

TEST_CASE_METHOD(Sharded, "a range of a tensor can span files") {
  const auto of = [](std::size_t first, std::size_t elements) {
    return TensorPart{.name = "b", .shape = {6}, .stored = 6, .first = first, .elements = elements};
  };
  add({of(0, 2)}, {1, 2});
  add({of(2, 3)}, {3, 4, 5});
  add({of(5, 1)}, {6});
  const auto state = open();
  REQUIRE(state);
  std::vector<float> some(4);
  REQUIRE((*state)->read(0, 1, some));
  CHECK(some == std::vector<float>{2, 3, 4, 5});
}

TEST_CASE_METHOD(Sharded, "missing, overlapping or mismatched shards are named") {
  SECTION("the end is missing") {
    add(0, 5);
    CHECK_THAT(refusal(),
               ContainsSubstring("tensor 'w' ends at element 5 of 8: a part is missing"));
  }
  SECTION("the beginning is missing") {
    add(5, 3);
    CHECK_THAT(refusal(), ContainsSubstring("leave a gap at element 0 of 8"));
  }
  SECTION("a shard is there twice") {
    add(0, 5);
    add(4, 4);
    CHECK_THAT(refusal(), ContainsSubstring("overlap at element 4 of 8"));
  }
  SECTION("another tensor") {
    add(0, 5);
    auto other = part(5, 3);
    other.shape = {3, 2};
    add({other}, {6, 0, 0});
    CHECK_THAT(refusal(), ContainsSubstring("tensor 'w' differs from the one in"));
  }
  SECTION("a layout beyond the shard") {
    auto other = part(0, 8);
    other.layout->strides = {1, 9};
    add({other}, stored);
    CHECK_THAT(refusal(), ContainsSubstring("does not fit its layout"));
  }
  SECTION("a file is missing") {
    add(0, 5);
    add(5, 3);
    fs::remove(folder / "rank-00001-of-00002.safetensors");
    CHECK_THAT(refusal(), ContainsSubstring("lacks its file rank-00001-of-00002.safetensors"));
  }
}

TEST_CASE("a shard description is converted to text and back, and other text is refused") {
  const auto one = part(5, 3);
  CHECK(to_string(one) == "2x3 5 of 8 1,2");
  const auto back = parse_part("w", to_string(one), 3);
  REQUIRE(back);
  CHECK(back->shape == one.shape);
  CHECK(back->first == 5);
  CHECK(back->stored == 8);
  CHECK(back->layout == one.layout);
  for (const auto* text :
       {"", "2x3", "2x3 5", "2x3 5 of", "2x3 5 off 8", "2x 5 of 8", "-2x3 5 of 8 1,2",
        "2x3 6 of 8 1,2", // beyond the end
        "2x3 5 of 8",     // more than the shape's elements, without a layout
        "3x3 5 of 8 1,2", // fewer than the shape's elements
        "2x3 18446744073709551615 of 8 1,2", "4294967296x4294967296x4294967296 0 of 3 1,2,3"})
    CHECK_FALSE(parse_part("w", text, 3));
}

TEST_CASE("a manifest is read back, and anything else is refused with the reason") {
  const ScratchFolder folder;
  const std::string digest(64, 'a');
  const Manifest manifest{
      .step = 7, .epoch = 2, .metadata = {{"k", "\"v\""}}, .files = {{"a", 3, digest}}};
  REQUIRE(write_manifest(folder.path(), manifest));
  CHECK(read_manifest(folder.path()).value() == manifest);
  const auto refused = [&](const std::string& text) {
    write_bytes(folder / manifest_name, text);
    const auto read = read_manifest(folder.path());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::corrupt);
    return read.error().message;
  };
  // Adds the checksum to the other fields as the documented format requires: sorted keys, no white
  // space.
  const auto sealed = [](const std::string& rest) {
    Sha256 sha;
    sha.update("{" + rest + "}");
    return R"({"checksum":")" + sha.hex_digest() + R"(",)" + rest + "}";
  };
  const auto with = [&](const std::string& name) {
    return sealed(R"("epoch":0,"files":[{"bytes":1,"name":")" + name + R"(","sha256":")" + digest +
                  R"("}],"metadata":{},"step":1,"troupe_checkpoint":2)");
  };
  CHECK_THAT(refused("{"), ContainsSubstring("checkpoint.json:1: not JSON"));
  CHECK_THAT(refused("[]"), ContainsSubstring("not a JSON object"));
  CHECK_THAT(refused("{\"a\": " + deeply_nested() + "}"),
             ContainsSubstring("checkpoint.json:1: JSON nested deeper than 32 levels"));
  CHECK_THAT(refused(R"({"troupe_checkpoint":3})"), ContainsSubstring("\"troupe_checkpoint\": 2"));
  CHECK_THAT(refused(R"({"troupe_checkpoint":2,"step":-1,"epoch":0})"),
             ContainsSubstring("not a whole number"));
  CHECK_THAT(refused(R"({"troupe_checkpoint":2,"step":1,"epoch":0,"metadata":{}})"),
             ContainsSubstring("its checksum does not match"));
  CHECK_THAT(refused(sealed(R"("epoch":0,"metadata":{"a":1},"step":1,"troupe_checkpoint":2)")),
             ContainsSubstring("metadata \"a\""));
  CHECK_THAT(refused(sealed(R"("epoch":0,"metadata":{},"step":1,"troupe_checkpoint":2)")),
             ContainsSubstring("no list of \"files\""));
  for (const auto* name : {"", "../a", "b/a", ".a", "/etc/passwd"})
    CHECK_THAT(refused(with(name)), ContainsSubstring("file 0 of \"files\""));
  CHECK_THAT(refused(std::string((4U << 20) + 1, ' ')), ContainsSubstring("at most"));
  write_bytes(folder / manifest_name, with("a"));
  CHECK(read_manifest(folder.path()));
}
