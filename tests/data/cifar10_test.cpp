#include "data/formats.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int records = 4;
constexpr int record_bytes = 3073;

/// Record r of file f has label (f + r) % 10; plane c of pixel i is (i + 10·c + f + r) % 256.
Bytes batch(int file) {
  Bytes bytes;
  for (int record = 0; record < records; ++record) {
    bytes.push_back(static_cast<std::uint8_t>((file + record) % 10));
    for (int c = 0; c < 3; ++c)
      for (int i = 0; i < 1024; ++i)
        bytes.push_back(static_cast<std::uint8_t>(i + 10 * c + file + record));
  }
  return bytes;
}

void write_all(const std::filesystem::path& folder) {
  for (int file = 1; file <= 5; ++file)
    write_bytes(folder / ("data_batch_" + std::to_string(file) + ".bin"), batch(file));
  write_bytes(folder / "test_batch.bin", batch(6));
}

Error open_error(const std::filesystem::path& folder, Split split = Split::train) {
  const auto dataset = open_cifar10(folder, split, records);
  REQUIRE_FALSE(dataset);
  return dataset.error();
}

} // namespace

TEST_CASE("CIFAR-10's five training files become one data set with interleaved channels") {
  ScratchFolder folder;
  const bool as_archive = GENERATE(false, true);
  write_all(as_archive ? folder / "cifar-10-batches-bin" : folder.path());
  const auto train = open_cifar10(folder.path(), Split::train, records);
  REQUIRE(train);
  CHECK((*train)->size() == 20);
  CHECK((*train)->num_classes() == 10);
  CHECK((*train)->info().class_names[6] == "frog");
  CHECK((*train)->label(0) == 1);
  CHECK((*train)->label(7) == 5); // file 2, record 3
  Bytes scratch;
  const auto image = (*train)->read(7, scratch);
  REQUIRE(image);
  CHECK((image->height == 32 && image->width == 32 && image->channels == 3));
  for (std::size_t i : {0, 1, 500, 1023})
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(image->pixels[3 * i + c] == static_cast<std::uint8_t>(i + 10 * c + 5));

  const auto test = open_cifar10(folder.path(), Split::test, records);
  REQUIRE(test);
  CHECK((*test)->size() == 4);
  CHECK((*test)->label(3) == 9);
}

TEST_CASE("a missing CIFAR-10 folder or file is named, with the command that fetches it") {
  ScratchFolder folder;
  const auto missing = folder / "nowhere";
  const auto no_folder = open_error(missing);
  CHECK(no_folder.code == Errc::data);
  CHECK(no_folder.exit_code() == 2);
  CHECK_THAT(no_folder.message,
             ContainsSubstring(missing.string()) &&
                 ContainsSubstring("tools/fetch-data cifar10 " + missing.string()));
  CHECK_THAT(open_error("").message, ContainsSubstring("data.root is empty"));

  write_all(folder.path());
  std::filesystem::remove(folder / "data_batch_3.bin");
  CHECK_THAT(open_error(folder.path()).message, ContainsSubstring("data_batch_3.bin") &&
                                                    ContainsSubstring("no such file") &&
                                                    ContainsSubstring("tools/fetch-data cifar10"));
}

TEST_CASE("a CIFAR-10 file of the wrong length is refused, even if it ends between records") {
  ScratchFolder folder;
  write_all(folder.path());
  const auto path = folder / "data_batch_2.bin";
  const int less = GENERATE(1, record_bytes, records * record_bytes);
  truncate(path, static_cast<std::uintmax_t>(less));
  CHECK_THAT(open_error(folder.path()).message,
             ContainsSubstring("data_batch_2.bin: expected 12292 bytes") &&
                 ContainsSubstring("truncated") &&
                 ContainsSubstring("found " + std::to_string(records * record_bytes - less)));
  auto longer = batch(2);
  longer.push_back(0);
  write_bytes(path, longer);
  CHECK_THAT(open_error(folder.path()).message, ContainsSubstring("too long"));
}

TEST_CASE("a CIFAR-10 label above nine is refused with its file and record") {
  ScratchFolder folder;
  write_all(folder.path());
  auto bytes = batch(6);
  bytes[2 * record_bytes] = 10;
  write_bytes(folder / "test_batch.bin", bytes);
  CHECK_THAT(open_error(folder.path(), Split::test).message,
             ContainsSubstring("test_batch.bin: record 2 has label 10, expected 0 to 9"));
  CHECK(open_cifar10(folder.path(), Split::train, records));
}
