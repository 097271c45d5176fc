// Tests folders that are malicious or broken.
#include "tests/training/hugging_face_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstring>

#include <sys/stat.h>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

class Hostile : public HuggingFaceFolder {
public:
  Hostile() : HuggingFaceFolder{small_language_config("gpt2-mini")} {}

  std::filesystem::path weights() const { return folder / "model.safetensors"; }
  /// Writes a sparse safetensors file with this header and size.
  void write_header(const std::string& header, std::uint64_t bytes) const {
    const std::uint64_t length = header.size();
    std::string begin(8, '\0');
    std::memcpy(begin.data(), &length, begin.size());
    write_bytes(weights(), begin + header);
    std::filesystem::resize_file(weights(), begin.size() + header.size() + bytes);
  }
};

} // namespace

TEST_CASE("weights that end early or have a header beyond the file are refused") {
  const Hostile made;
  made.write();
  const auto whole = read_bytes(made.weights());
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() - 1}) {
    write_bytes(made.weights(), whole.substr(0, bytes));
    CHECK_THAT(made.refusal(), ContainsSubstring("model.safetensors"));
  }
  write_bytes(made.weights(), std::string(8, '\xff') + whole.substr(8));
  CHECK_THAT(made.refusal(), ContainsSubstring("does not fit in the file"));
}

TEST_CASE("a huge tensor is refused before any of it is read") {
  const Hostile made;
  made.write_config();
  made.write_header(R"({"transformer.wte.weight":{"dtype":"F32","shape":[257,66846720],)"
                    R"("data_offsets":[0,68718428160]}})",
                    68718428160);
  CHECK_THAT(made.refusal(), ContainsSubstring("transformer.wte.weight: 257x66846720 in the file, "
                                               "expected 257x8"));
  made.write_header(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],)"
                    R"("data_offsets":[0,0]}})",
                    0);
  CHECK_THAT(made.refusal(), ContainsSubstring("out of range"));
}

TEST_CASE("an index may only name files of its own folder") {
  const Hostile made;
  auto index = made.write_shards();
  const std::string name =
      GENERATE("../model-00001-of-00002.safetensors", "/etc/passwd", "/tmp/x.safetensors",
               "a/b.safetensors", "..", "", ".safetensors", "x\n.safetensors", "model.bin");
  index["weight_map"]["transformer.wte.weight"] = name;
  made.write_index(index);
  CHECK_THAT(made.refusal(),
             ContainsSubstring("is not the name of a .safetensors file in this folder"));
}

TEST_CASE("an index that does not match its files is refused") {
  const Hostile made;
  auto index = made.write_shards();
  const std::string first = made.tensors[0].name, second = made.tensors[1].name;
  SECTION("a file is missing") {
    std::filesystem::remove(made.folder / made.shard(1));
    CHECK_THAT(made.refusal(),
               ContainsSubstring("model-00002-of-00002.safetensors: there is no such file, "
                                 "although model.safetensors.index.json lists it"));
  }
  SECTION("a file is a link to itself") {
    std::filesystem::remove(made.folder / made.shard(1));
    std::filesystem::create_symlink(made.shard(1), made.folder / made.shard(1));
    CHECK_THAT(made.refusal(), ContainsSubstring("model-00002-of-00002.safetensors"));
  }
  SECTION("a tensor is in the other file") {
    index["weight_map"][first] = made.shard(1);
    made.write_index(index);
    CHECK_THAT(made.refusal(), ContainsSubstring("tensor '" + first + "', but "));
  }
  SECTION("a tensor is not listed") {
    index["weight_map"].erase(second);
    made.write_index(index);
    CHECK_THAT(made.refusal(), ContainsSubstring("tensor '" + second + "', but "));
  }
  SECTION("a listed tensor does not exist") {
    index["weight_map"]["transformer.more"] = made.shard(0);
    made.write_index(index);
    CHECK_THAT(made.refusal(), ContainsSubstring("that is missing there: 'transformer.more'"));
  }
  SECTION("a file name is not text") {
    index["weight_map"][first] = {made.shard(0)};
    made.write_index(index);
    CHECK_THAT(made.refusal(), ContainsSubstring("is not the name"));
  }
  SECTION("the map is missing") {
    made.write_index({{"metadata", {{"total_size", 1}}}});
    CHECK_THAT(made.refusal(), ContainsSubstring("weight_map names no tensor"));
  }
  SECTION("more files than the limit") {
    for (int i = 0; i < 300; ++i)
      index["weight_map"]["t" + std::to_string(i)] = std::to_string(i) + ".safetensors";
    made.write_index(index);
    CHECK_THAT(made.refusal(), ContainsSubstring("names 302 files; at most 256 are read"));
  }
}

TEST_CASE("invalid JSON files are refused") {
  const Hostile made;
  made.write();
  const auto config = made.folder / "config.json";
  SECTION("truncated") {
    write_bytes(config, made.json.dump().substr(0, 40));
    CHECK_THAT(made.refusal(), ContainsSubstring("config.json:1:"));
  }
  SECTION("a repeated key") {
    write_bytes(config, R"({"n_layer": 2, "n_layer": 3})");
    CHECK_THAT(made.refusal(), ContainsSubstring("n_layer: given twice"));
  }
  SECTION("nested too deeply") {
    write_bytes(config, std::string(100000, '[') + std::string(100000, ']'));
    CHECK_THAT(made.refusal(), ContainsSubstring("config.json"));
  }
  SECTION("too long") {
    write_bytes(config, "{\"a\": \"" + std::string(std::size_t{2} << 20, 'x') + "\"}");
    CHECK_THAT(made.refusal(), ContainsSubstring("longer than 1 MiB"));
  }
  SECTION("a pipe without a writer") {
    std::filesystem::remove(config);
    REQUIRE(::mkfifo(config.c_str(), 0600) == 0);
    CHECK_THAT(made.refusal(), ContainsSubstring("config.json is not a regular file"));
  }
}

TEST_CASE("a folder without weights is refused with the expected files") {
  const Hostile made;
  made.write_config();
  CHECK_THAT(made.refusal(), ContainsSubstring("there is neither model.safetensors nor "
                                               "model.safetensors.index.json in this folder"));
  write_bytes(made.folder / "pytorch_model.bin", "PK\x03\x04" + std::string(100, 'x'));
  CHECK_THAT(made.refusal(), ContainsSubstring("torch.load("));
}
