#include "tests/support/checkpoint_files.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <bit>
#include <limits>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::vector<float> weight = {1.5f, -2.0f, 0.0f, std::numeric_limits<float>::infinity()};
const std::vector<float> mean = {std::bit_cast<float>(0x7fc01234u),
                                 -0.0f}; // also the payload of a NaN
const std::vector<float> momentum = {1e-40f, 2, 3, 4};

Checkpoint sample() {
  return {.step = 123,
          .epoch = 4,
          .metadata = {{"seed", "7"}, {"model", "resnet20"}, {"note", R"("checksum":"0000)"}},
          .tensors = {{"conv1.weight", {2, 2}, weight},
                      {"bn1.running_mean", {2}, mean},
                      {optimizer_tensor_name("momentum", "conv1.weight"), {2, 2}, momentum}}};
}

void check_is_sample(const Result<Checkpoint>& read) {
  REQUIRE(read);
  CHECK(read->step == 123);
  CHECK(read->epoch == 4);
  CHECK(read->metadata == sample().metadata);
  REQUIRE(read->tensors.size() == 3);
  for (const auto& tensor : sample().tensors) {
    const auto* found = read->find(tensor.name);
    REQUIRE(found);
    CHECK(found->shape == tensor.shape);
    CHECK(std::ranges::equal(std::as_bytes(found->values), std::as_bytes(tensor.values)));
  }
  CHECK_FALSE(read->find("conv2.weight"));
}

/// Whether the state is refused as damaged, with the name of a file below `path`.
bool is_refused(const fs::path& path) {
  const auto state = open_state(path);
  return !state && state.error().code == Errc::corrupt &&
         state.error().message.find(path.string()) != std::string::npos;
}

/// Checks that opening `path` detects every altered byte of `file`, and every truncation.
void check_all_damage_is_found(const fs::path& path, const fs::path& file) {
  const auto good = read_bytes(file);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x10', '\x80', '\xff'}) {
      write_byte(file, i, static_cast<char>(good[i] ^ flip));
      if (!is_refused(path))
        FAIL("byte " << i << " xor " << int{flip} << " was accepted");
    }
    write_byte(file, i, good[i]);
  }
  REQUIRE(open_state(path));
  write_bytes(file, good + '\0');
  CHECK(is_refused(path));
  for (auto size = good.size(); size-- > 0;) {
    fs::resize_file(file, size);
    if (!is_refused(path))
      FAIL("the first " << size << " bytes were accepted");
  }
  write_bytes(file, good);
}

} // namespace

TEST_CASE("a checkpoint is read back bit for bit") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  check_is_sample(read_checkpoint(folder / "c"));
}

TEST_CASE("version 1 checkpoints are read unchanged") {
  const ScratchFolder folder;
  REQUIRE(write_single_file(folder / "c.safetensors", sample()));
  check_is_sample(read_checkpoint(folder / "c.safetensors"));
}

TEST_CASE("weights and optimizer state are separate files") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  const auto model = read_checkpoint(folder / "c" / model_file);
  REQUIRE(model);
  CHECK(model->tensors.size() == 2);
  CHECK(model->metadata.at("model") == "resnet20");
  CHECK(model->metadata.at("format") == "pt");
  const auto optimizer = read_checkpoint(folder / "c" / optimizer_file);
  REQUIRE(optimizer);
  REQUIRE(optimizer->tensors.size() == 1);
  CHECK(optimizer->tensors[0].name == "optimizer.momentum.conv1.weight");
}

TEST_CASE("equal checkpoints give equal files") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "a", sample()));
  REQUIRE(write_checkpoint(folder / "b", sample()));
  for (const auto* name : {model_file, optimizer_file, manifest_name})
    CHECK(read_bytes(folder / "a" / name) == read_bytes(folder / "b" / name));
}

TEST_CASE("damage to any byte of a checkpoint's tensors, and any truncation, is detected") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  check_all_damage_is_found(folder / "c", folder / "c" / model_file);
  check_all_damage_is_found(folder / "c", folder / "c" / optimizer_file);
}

TEST_CASE("damage to any byte of a manifest is detected or has no effect") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  const auto file = folder / "c" / manifest_name;
  const auto good = read_bytes(file);
  const auto manifest = read_manifest(folder / "c").value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x02', '\x10', '\x80'}) {
      write_byte(file, i, static_cast<char>(good[i] ^ flip));
      const auto read = read_manifest(folder / "c");
      if (read && *read != manifest)
        FAIL("byte " << i << " xor " << int{flip} << " was accepted");
    }
    write_byte(file, i, good[i]);
  }
}

TEST_CASE("damage to any byte of a version 1 checkpoint is detected") {
  const ScratchFolder folder;
  REQUIRE(write_single_file(folder / "c.safetensors", sample()));
  check_all_damage_is_found(folder / "c.safetensors", folder / "c.safetensors");
}

TEST_CASE("missing parts of a checkpoint are named") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  fs::remove(folder / "c" / optimizer_file);
  CHECK_THAT(open_state(folder / "c").error().message,
             ContainsSubstring("lacks its file optimizer.safetensors"));
  fs::remove(folder / "c" / manifest_name);
  CHECK_THAT(open_state(folder / "c").error().message, ContainsSubstring(manifest_name));
  CHECK(open_state(folder / "absent").error().code == Errc::io);
}

TEST_CASE("contents are verified on request") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  const auto file = folder / "c" / model_file;
  write_byte(file, fs::file_size(file) - 1, '\x11');
  CHECK_THAT(open_state(folder / "c").error().message,
             ContainsSubstring("the checksum does not match"));
  CHECK(open_state(folder / "c", Verify::sizes));
}

TEST_CASE("a shard of a tensor is read without the rest") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  const auto state = open_state(folder / "c").value();
  std::vector<float> two(2);
  REQUIRE(state->read(*state->find("optimizer.momentum.conv1.weight"), 1, two));
  CHECK(two == std::vector<float>{2, 3});
}

TEST_CASE("a checkpoint without an optimizer or without tensors is valid") {
  const ScratchFolder folder;
  auto weights = sample();
  weights.tensors.pop_back();
  REQUIRE(write_checkpoint(folder / "weights", weights));
  CHECK_FALSE(fs::exists(folder / "weights" / optimizer_file));
  CHECK(read_checkpoint(folder / "weights")->tensors.size() == 2);
  REQUIRE(write_checkpoint(folder / "empty", {.step = 1, .metadata = {}, .tensors = {}}));
  CHECK(read_checkpoint(folder / "empty")->tensors.empty());
}

TEST_CASE("a file with missing values is not committed") {
  const ScratchFolder folder;
  const std::vector<TensorPart> parts = {{.name = "w", .shape = {4}, .stored = 4, .elements = 4}};
  {
    auto writer = StateFileWriter::create(folder / "a", {}, parts);
    REQUIRE(writer);
    REQUIRE(writer->append(std::span{weight}.first(3)));
    CHECK(writer->commit().error().code == Errc::internal);
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("values may come in chunks of any size without changing the file") {
  const ScratchFolder folder;
  const std::vector<TensorPart> parts = {{.name = "w", .shape = {2, 2}, .stored = 4, .elements = 4},
                                         {.name = "m", .shape = {2}, .stored = 2, .elements = 2}};
  auto whole = StateFileWriter::create(folder / "whole", {{"a", "b"}}, parts);
  auto pieces = StateFileWriter::create(folder / "pieces", {{"a", "b"}}, parts);
  REQUIRE(whole);
  REQUIRE(pieces);
  for (const auto& values : {weight, mean}) {
    REQUIRE(whole->append(values));
    for (const auto& value : values)
      REQUIRE(pieces->append({&value, 1}));
  }
  const auto one = whole->commit(), other = pieces->commit();
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->sha256 == other->sha256);
  CHECK(read_bytes(folder / "pieces") == read_bytes(folder / "whole"));
}

TEST_CASE("the digest of the parameters covers their values in name order") {
  const std::vector<float> one = {1}, two_three = {2, 3};
  // Python: hashlib.sha256(struct.pack("<3f", 1, 2, 3)).hexdigest()
  CHECK(parameters_sha256({{"b", two_three}, {"a", one}}) ==
        "8e628779e6a74ee0b36991c10158f63cafec7d340ad4e075592502c8708524dd");
}
