#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

void make_package(const fs::path& prefix, const std::string& packages, const std::string& name) {
  fs::create_directories(prefix / packages / "nvidia" / name / "lib");
}

/// Returns places relative to the folder; "" is the loader's default search.
std::vector<std::string> places_in(const ScratchFolder& folder, LibraryEnvironment environment) {
  environment.toolkit = folder / "cuda";
  std::vector<std::string> found;
  for (const auto& place : library_places(environment))
    found.push_back(place.empty() ? "" : fs::relative(place, folder.path()).string());
  return found;
}

} // namespace

TEST_CASE("libraries are searched in the user's folders, Python environments, the loader and the "
          "toolkit") {
  const ScratchFolder folder;
  fs::create_directories(folder / "mine");
  fs::create_directories(folder / "cuda/lib64");
  fs::create_directories(folder / "cuda/targets/x86_64-linux/lib");
  make_package(folder / "venv", "lib/python3.12/site-packages", "cudnn");
  make_package(folder / "venv", "lib/python3.12/site-packages", "cublas");
  make_package(folder / "conda", "lib/python3.11/site-packages", "cu13");
  LibraryEnvironment environment;
  environment.cuda_libraries = (folder / "absent").string() + ":" + (folder / "mine").string();
  environment.virtual_env = folder / "venv";
  environment.conda_prefix = folder / "conda";
  CHECK(places_in(folder, environment) ==
        std::vector<std::string>{"mine", "venv/lib/python3.12/site-packages/nvidia/cublas/lib",
                                 "venv/lib/python3.12/site-packages/nvidia/cudnn/lib",
                                 "conda/lib/python3.11/site-packages/nvidia/cu13/lib", "",
                                 "cuda/lib64", "cuda/targets/x86_64-linux/lib"});
}

TEST_CASE("a program in a build tree finds the wheels of its tree, an installed one does not") {
  const ScratchFolder folder;
  fs::create_directories(folder / "tree/.deps/cuda/nvidia/cudnn/lib");
  fs::create_directories(folder / "tree/build/release/app");
  write_bytes(folder / "tree/CMakePresets.json", "{}");
  write_bytes(folder / "tree/build/release/CMakeCache.txt", "");
  LibraryEnvironment environment;
  environment.cuda_libraries = folder / "tree";
  environment.program = folder / "tree/build/release/app/troupe";
  CHECK(places_in(folder, environment) ==
        std::vector<std::string>{"tree", "tree/.deps/cuda/nvidia/cudnn/lib", ""});
  environment.program = folder / "tree/bin/troupe";
  CHECK(places_in(folder, environment) == std::vector<std::string>{"tree", ""});
}

TEST_CASE("the first python3 in PATH determines the environment and its base Python") {
  const ScratchFolder folder;
  make_package(folder / "venv", "lib/python3.12/site-packages", "cudnn");
  make_package(folder / "usr", "local/lib/python3.12/dist-packages", "cudnn");
  make_package(folder / "later", "lib/python3.12/site-packages", "cudnn");
  for (const auto* bin : {"empty/bin", "venv/bin", "usr/bin", "later/bin"})
    fs::create_directories(folder / bin);
  write_bytes(folder / "usr/bin/python3.12", "");
  write_bytes(folder / "later/bin/python3", "");
  fs::create_symlink(folder / "usr/bin/python3.12", folder / "venv/bin/python3");
  LibraryEnvironment environment;
  for (const auto* bin : {"empty/bin", "venv/bin", "later/bin"})
    environment.path += (folder / bin).string() + ":";
  CHECK(places_in(folder, environment) ==
        std::vector<std::string>{"", "venv/lib/python3.12/site-packages/nvidia/cudnn/lib",
                                 "usr/local/lib/python3.12/dist-packages/nvidia/cudnn/lib"});
}

TEST_CASE("a library that is not found: the error lists the searched places") {
  const ScratchFolder folder;
  write_bytes(folder / "libtroupe_absent.so.1", "not a library");
  const auto library = SharedLibrary::open("libtroupe_absent.so.1", {"", folder.path()});
  REQUIRE_FALSE(library);
  CHECK(library.error().code == Errc::unsupported);
  CHECK_THAT(library.error().message, ContainsSubstring("libtroupe_absent.so.1"));
  CHECK_THAT(library.error().message, ContainsSubstring("the loader's path"));
  CHECK_THAT(library.error().message, ContainsSubstring(folder.path().string()));
  CHECK_THAT(library.error().message, ContainsSubstring("TROUPE_CUDA_LIBRARIES"));
}

TEST_CASE("the functions of cuDNN and cuBLASLt are found in installed libraries") {
  const auto cudnn = testing::cudnn_or_skip();
  CHECK(cudnn.version() / 10000 == CUDNN_MAJOR);
  const auto cublas = open_cublas_lt(library_places_of_process());
  if (!cublas)
    SKIP(cublas.error().message);
  CHECK(cublas->version() > 0);
}
