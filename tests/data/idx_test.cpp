#include "data/detail/file.hpp"
#include "data/formats.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/stat.h>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int count = 6, side = 5;

Bytes idx(std::initializer_list<std::uint32_t> sizes, const Bytes& values) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const auto size : sizes)
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

Bytes images() {
  return idx({count, side, side}, pattern(count * side, side, 1));
}
Bytes labels() {
  return idx({count}, {3, 1, 4, 1, 5, 9});
}

void write_train(const std::filesystem::path& folder) {
  write_bytes(folder / "train-images-idx3-ubyte", images());
  write_bytes(folder / "train-labels-idx1-ubyte", labels());
}

std::string idx_error(const std::filesystem::path& folder) {
  const auto dataset = open_idx(folder, Split::train, IdxFlavour::mnist);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == Errc::data);
  CHECK_THAT(dataset.error().message,
             ContainsSubstring("tools/fetch-data mnist " + folder.string()));
  return dataset.error().message;
}

} // namespace

TEST_CASE("IDX files give grey images and labels, plain or gzipped, under any of their names") {
  ScratchFolder folder;
  const auto spelling = GENERATE(0, 1, 2, 3);
  const std::string separator = spelling & 1 ? "." : "-", ending = spelling & 2 ? ".gz" : "";
  const auto packed = [&](const Bytes& bytes) { return ending.empty() ? bytes : gzip(bytes); };
  write_bytes(folder / ("train-images" + separator + "idx3-ubyte" + ending), packed(images()));
  write_bytes(folder / ("train-labels" + separator + "idx1-ubyte" + ending), packed(labels()));
  const auto dataset = open_idx(folder.path(), Split::train, IdxFlavour::mnist);
  REQUIRE(dataset);
  CHECK((*dataset)->size() == count);
  CHECK((*dataset)->info().name == "mnist");
  CHECK((*dataset)->info().channels == 1);
  CHECK((*dataset)->label(5) == 9);
  Bytes scratch;
  const auto image = (*dataset)->read(2, scratch);
  REQUIRE(image);
  CHECK((image->height == side && image->width == side && image->channels == 1));
  const auto all = pattern(count * side, side, 1);
  CHECK(std::equal(image->pixels.begin(), image->pixels.end(), all.begin() + 2 * side * side));
}

TEST_CASE("the test split reads the t10k files, and Fashion-MNIST has its own class names") {
  ScratchFolder folder;
  write_bytes(folder / "t10k-images-idx3-ubyte", images());
  write_bytes(folder / "t10k-labels-idx1-ubyte", labels());
  const auto dataset = open_idx(folder.path(), Split::test, IdxFlavour::fashion_mnist);
  REQUIRE(dataset);
  CHECK((*dataset)->info().class_names.back() == "ankle boot");
}

TEST_CASE("a missing IDX folder or file is named, with the command that fetches it") {
  ScratchFolder folder;
  CHECK_THAT(idx_error(folder / "nowhere"), ContainsSubstring("no such folder"));
  CHECK_THAT(idx_error(folder.path()),
             ContainsSubstring("train-images-idx3-ubyte: there is no such file"));
  const auto fashion = open_idx(folder.path(), Split::train, IdxFlavour::fashion_mnist);
  REQUIRE_FALSE(fashion);
  CHECK_THAT(fashion.error().message, ContainsSubstring("tools/fetch-data fashion-mnist"));
}

TEST_CASE("an IDX file that is too short or too long is refused") {
  ScratchFolder folder;
  write_train(folder.path());
  const auto path = folder / "train-images-idx3-ubyte";
  SECTION("it ends within the values") {
    truncate(path, 1);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("promises 150 values, found 149") &&
                                             ContainsSubstring("truncated"));
  }
  SECTION("it ends within the header") {
    truncate(path, images().size() - 9);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("header of 16 bytes, found 9"));
  }
  SECTION("it is empty") {
    write_bytes(path, Bytes{});
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("found 0 bytes"));
  }
  SECTION("it continues after the values") {
    auto longer = images();
    longer.push_back(0);
    write_bytes(path, longer);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("too long"));
  }
}

TEST_CASE("a damaged gzip file is refused") {
  ScratchFolder folder;
  write_bytes(folder / "train-labels-idx1-ubyte.gz", gzip(labels()));
  const auto path = folder / "train-images-idx3-ubyte.gz";
  auto packed = gzip(images());
  SECTION("truncated, also within its checksum") {
    const auto less = GENERATE(1, 8, 40);
    packed.resize(packed.size() - static_cast<std::size_t>(less));
    write_bytes(path, packed);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("the gzip stream ends early"));
  }
  SECTION("with a wrong checksum") {
    packed[packed.size() - 8] ^= 0xff;
    write_bytes(path, packed);
    CHECK_THAT(idx_error(folder.path()),
               ContainsSubstring("damaged gzip stream: incorrect data check"));
  }
}

TEST_CASE("a gzipped file is decompressed only as far as its header states") {
  ScratchFolder folder;
  write_train(folder.path());
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  auto bomb = images();
  bomb.resize(std::size_t{64} << 20);
  const auto path = folder / "train-images-idx3-ubyte.gz";
  write_bytes(path, gzip(bomb));
  CHECK_THAT(idx_error(folder.path()),
             ContainsSubstring("promises 150 values, and more follow: the file is too long"));
  const auto some = read_maybe_gzip(path, 1000);
  REQUIRE(some);
  CHECK(some->size() == 1000);
  CHECK(some->capacity() <= 2000);
}

TEST_CASE("a path that is not a regular file is refused without waiting") {
  ScratchFolder folder;
  write_train(folder.path());
  const auto path = folder / "train-images-idx3-ubyte";
  std::filesystem::remove(path);
  SECTION("a pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("it is a pipe, not a regular file"));
  }
  SECTION("a device") {
    std::filesystem::create_symlink("/dev/zero", path);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("it is a device, not a regular file"));
  }
  SECTION("a folder") {
    std::filesystem::create_directory(path);
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("it is a folder, not a regular file"));
  }
  SECTION("a folder in place of one of the files") {
    std::filesystem::create_directory(path);
    write_bytes(folder / "train-images-idx3-ubyte.gz", gzip(images()));
    CHECK(open_idx(folder.path(), Split::train, IdxFlavour::mnist));
  }
}

TEST_CASE("a file of another type than its name is refused by its magic number") {
  ScratchFolder folder;
  write_train(folder.path());
  write_bytes(folder / "train-images-idx3-ubyte", Bytes(100, 'x'));
  CHECK_THAT(idx_error(folder.path()),
             ContainsSubstring("magic number 0x00000803") && ContainsSubstring("found 0x78787878"));
  write_train(folder.path());
  write_bytes(folder / "train-labels-idx1-ubyte", images());
  CHECK_THAT(idx_error(folder.path()), ContainsSubstring("magic number 0x00000801"));
}

TEST_CASE("IDX labels that do not match the images are refused") {
  ScratchFolder folder;
  write_train(folder.path());
  SECTION("another count") {
    write_bytes(folder / "train-labels-idx1-ubyte", idx({5}, {3, 1, 4, 1, 5}));
    CHECK_THAT(idx_error(folder.path()),
               ContainsSubstring("has 6 images") && ContainsSubstring("has 5 labels"));
  }
  SECTION("out of range") {
    write_bytes(folder / "train-labels-idx1-ubyte", idx({6}, {3, 1, 10, 1, 5, 9}));
    CHECK_THAT(idx_error(folder.path()),
               ContainsSubstring("label 10 of sample 2, expected 0 to 9"));
  }
  SECTION("no samples") {
    write_bytes(folder / "train-images-idx3-ubyte", idx({0, 28, 28}, {}));
    write_bytes(folder / "train-labels-idx1-ubyte", idx({0}, {}));
    CHECK_THAT(idx_error(folder.path()), ContainsSubstring("the file is empty"));
  }
}

TEST_CASE("sizes in a damaged IDX header that overflow are refused") {
  ScratchFolder folder;
  write_train(folder.path());
  write_bytes(folder / "train-images-idx3-ubyte",
              idx({0xffffffff, 0xffffffff, 0xffffffff}, {1, 2}));
  CHECK_THAT(idx_error(folder.path()), ContainsSubstring("found 2"));
  // 2^22 · 2^21 · 2^21 is 0 modulo 2^64
  write_bytes(folder / "train-images-idx3-ubyte", idx({1u << 22, 1u << 21, 1u << 21}, {}));
  CHECK_THAT(idx_error(folder.path()), ContainsSubstring("found 0"));
}
