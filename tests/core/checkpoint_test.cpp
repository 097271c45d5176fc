#include "scratch_folder.hpp"

#include "troupe/core/checkpoint/checkpoint.hpp"
#include "troupe/core/checkpoint/safetensors.hpp"
#include "troupe/core/sha256.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <bit>
#include <limits>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<float> weight = {1.5f, -2.0f, 0.0f, std::numeric_limits<float>::infinity()};
const std::vector<float> mean = {std::bit_cast<float>(0x7fc01234u), -0.0f}; // also a NaN's payload
const std::vector<float> momentum = {1e-40f, 2, 3, 4};

Checkpoint sample() {
  return {.step = 123,
          .epoch = 4,
          .metadata = {{"seed", "7"}, {"model", "resnet20"}, {"note", R"("checksum":"0000)"}},
          .tensors = {{"conv1.weight", {2, 2}, weight},
                      {"bn1.running_mean", {2}, mean},
                      {optimizer_tensor_name("momentum", "conv1.weight"), {2, 2}, momentum}}};
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

} // namespace

TEST_CASE("a checkpoint comes back bit for bit") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c.safetensors", sample()));
  const auto read = read_checkpoint(folder / "c.safetensors");
  REQUIRE(read);
  CHECK(read->step == 123);
  CHECK(read->epoch == 4);
  CHECK(read->metadata == sample().metadata);
  REQUIRE(read->tensors.size() == 3);
  for (const auto& tensor : sample().tensors) {
    const auto* found = read->find(tensor.name);
    REQUIRE(found);
    CHECK(found->shape == tensor.shape);
    CHECK(same_bits(found->values, tensor.values));
  }
  CHECK(read->find("optimizer.momentum.conv1.weight"));
  CHECK_FALSE(read->find("conv2.weight"));
}

TEST_CASE("the tensors of a read checkpoint stay valid in its copies") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c.safetensors", sample()));
  Checkpoint copy;
  {
    const auto read = read_checkpoint(folder / "c.safetensors");
    REQUIRE(read);
    copy = *read;
  }
  CHECK(same_bits(copy.find("conv1.weight")->values, weight));
}

TEST_CASE("the same checkpoint gives the same file") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "a", sample()));
  REQUIRE(write_checkpoint(folder / "b", sample()));
  CHECK(read_bytes(folder / "a") == read_bytes(folder / "b"));
}

TEST_CASE("the checksum is the digest of the file with zeros in its place") {
  const ScratchFolder folder;
  REQUIRE(write_checkpoint(folder / "c", sample()));
  const auto reader = SafetensorsReader::open(folder / "c");
  REQUIRE(reader);
  const auto checksum = reader->metadata().at("checksum");
  auto bytes = read_bytes(folder / "c");
  bytes.replace(bytes.find(checksum), checksum.size(), std::string(64, '0'));
  Sha256 sha;
  sha.update(bytes);
  CHECK(sha.hex_digest() == checksum);
}

TEST_CASE("damage to any byte of a checkpoint, and any truncation, is found") {
  const ScratchFolder folder;
  const auto path = folder / "c.safetensors";
  REQUIRE(write_checkpoint(path, sample()));
  const auto good = read_bytes(path);
  const auto refused = [&] {
    const auto read = read_checkpoint(path);
    return !read && read.error().code == Errc::corrupt &&
           read.error().message.starts_with(path.string());
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x10', '\x80', '\xff'}) {
      write_byte(path, i, static_cast<char>(good[i] ^ flip));
      if (!refused())
        FAIL("byte " << i << " xor " << int{flip} << " was accepted");
    }
    write_byte(path, i, good[i]);
  }
  REQUIRE(read_checkpoint(path));
  write_bytes(path, good + '\0');
  CHECK(refused());
  for (auto size = good.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    if (!refused())
      FAIL("the first " << size << " bytes were accepted");
  }
}

TEST_CASE("damage is named") {
  const ScratchFolder folder;
  const auto path = folder / "c.safetensors";
  REQUIRE(write_checkpoint(path, sample()));
  auto bytes = read_bytes(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(path, bytes);
  CHECK_THAT(read_checkpoint(path).error().message, ContainsSubstring("checksum does not match"));
}

TEST_CASE("safetensors of others are not taken for checkpoints") {
  const ScratchFolder folder;
  REQUIRE(write_safetensors(folder / "other", {{"format", "pt"}},
                            {{"w", "F32", {4}, std::as_bytes(std::span{weight})}}));
  const auto read = read_checkpoint(folder / "other");
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::corrupt);
  CHECK_THAT(read.error().message, ContainsSubstring("not a checkpoint"));
}

TEST_CASE("a checkpoint that is not there is an i/o error, one without tensors is fine") {
  const ScratchFolder folder;
  CHECK(read_checkpoint(folder / "absent").error().code == Errc::io);
  REQUIRE(
      write_checkpoint(folder / "empty", {.step = 1, .epoch = 0, .metadata = {}, .tensors = {}}));
  CHECK(read_checkpoint(folder / "empty")->tensors.empty());
}

TEST_CASE("values may come in any pieces, and the file is the same") {
  const ScratchFolder folder;
  const auto whole = sample();
  REQUIRE(write_checkpoint(folder / "whole", whole));
  CheckpointHeader header{
      .step = whole.step, .epoch = whole.epoch, .metadata = whole.metadata, .tensors = {}};
  for (const auto& tensor : whole.tensors)
    header.tensors.push_back({tensor.name, tensor.shape});
  auto writer = CheckpointWriter::create(folder / "pieces", header);
  REQUIRE(writer);
  for (const auto& tensor : whole.tensors)
    for (const auto& value : tensor.values)
      REQUIRE(writer->append({&value, 1}));
  CHECK_FALSE(std::filesystem::exists(folder / "pieces"));
  REQUIRE(writer->commit());
  CHECK(read_bytes(folder / "pieces") == read_bytes(folder / "whole"));
}

TEST_CASE("a checkpoint whose values are not all given is none") {
  const ScratchFolder folder;
  {
    auto writer = CheckpointWriter::create(
        folder / "a", {.step = 1, .epoch = 0, .metadata = {}, .tensors = {{"w", {4}}}});
    REQUIRE(writer);
    REQUIRE(writer->append(std::span{weight}.first(3)));
    CHECK(writer->commit().error().code == Errc::internal);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("own keys in the metadata do not disturb the file's") {
  const ScratchFolder folder;
  auto checkpoint = sample();
  checkpoint.metadata["step"] = "999";
  checkpoint.metadata["checksum"] = "none";
  REQUIRE(write_checkpoint(folder / "c", checkpoint));
  CHECK(read_checkpoint(folder / "c")->step == 123);
}

TEST_CASE("the parameters' digest is over their values in name order") {
  const std::vector<float> one = {1}, two_three = {2, 3};
  // Python: hashlib.sha256(struct.pack("<3f", 1, 2, 3)).hexdigest()
  CHECK(parameters_sha256({{"b", two_three}, {"a", one}}) ==
        "8e628779e6a74ee0b36991c10158f63cafec7d340ad4e075592502c8708524dd");
}
