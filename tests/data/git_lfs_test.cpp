// Tests git-lfs pointers in place of files that git-lfs has not fetched.
#include "data/detail/file.hpp"
#include "data/detail/image_file.hpp"
#include "data/formats.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/token_file.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

class Pointers {
public:
  /// Writes a pointer with this name, as git-lfs does.
  std::filesystem::path write(const std::string& name) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_bytes(path, std::string_view{"version https://git-lfs.github.com/spec/v1\n"
                                       "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258d"
                                       "aaa5e2ca24d17e2393\nsize 12345\n"});
    return path;
  }
  std::filesystem::path root() const { return folder_.path(); }

private:
  ScratchFolder folder_;
};

template <class T>
void check_named(const Result<T>& read, const std::string& name) {
  REQUIRE_FALSE(read);
  CHECK(read.error().exit_code() == 2);
  CHECK_THAT(read.error().message,
             ContainsSubstring(name + ": this is a git-lfs pointer, not the file itself: fetch it "
                                      "with `git lfs pull`"));
}

} // namespace

TEST_CASE_METHOD(Pointers, "every reader of data reports a git-lfs pointer as one") {
  Bytes pixels;
  check_named(read_image(write("a.png"), pixels), "a.png");
  check_named(read_file(write("train.csv")), "train.csv");
  write("test_batch.bin");
  check_named(open_cifar10(root(), Split::test), "test_batch.bin");
  write("t10k-images-idx3-ubyte.gz");
  check_named(open_idx(root(), Split::test, IdxFlavour::mnist), "t10k-images-idx3-ubyte.gz");
  check_named(open_tokenizer(write("tokenizer.json").string()), "tokenizer.json");
  check_named(open_tokenizer(write("gpt2.tiktoken").string(), TokenizerSplit::gpt2),
              "gpt2.tiktoken");
  check_named(TokenFile::open(write("text.tokens")), "text.tokens");
}

TEST_CASE_METHOD(Pointers, "a text that only mentions git-lfs is read as text") {
  write_bytes(root() / "a.txt", std::string_view{"The version https://git-lfs.github.com/spec/v1"});
  CHECK(read_file(root() / "a.txt"));
}
