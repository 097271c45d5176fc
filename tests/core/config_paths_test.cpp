// Tests config files and the paths in them.
#include "tests/core/config_fixture.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("the home folder replaces ~/ at the start of a path") {
  const EnvironmentVariable home{"HOME", "/somebody"};
  const auto c = good("data: {dataset: synthetic, root: ~/data, validation: \"~\"}\n"
                      "run: {output: ~/runs}\n"
                      "cluster: {tls: {certificate: ~/a.pem, key: ~/b.pem, ca: c.pem}}\n",
                      {"model.pretrained=~/a.safetensors", "data.tokenizer=a/~/b"});
  CHECK(c.data.root == "/somebody/data");
  CHECK(c.data.validation.path == "~"); // "~" by itself is a file name
  CHECK(c.run.output == "/somebody/runs");
  CHECK(c.cluster.tls.key == "/somebody/b.pem");
  CHECK(c.cluster.tls.ca == "c.pem");
  CHECK(c.model.pretrained == "/somebody/a.safetensors");
  CHECK(c.data.tokenizer.path == "a/~/b");
  CHECK(good("data: {dataset: synthetic, root: ~a/b}").data.root == "~a/b");
}

TEST_CASE("a path with ~/ is refused without a home folder") {
  const EnvironmentVariable home{"HOME", ""};
  CHECK(problems(synthetic + "run: {output: ~/runs}")
            .at(0)
            .starts_with("a.yaml:2:15: run.output: cannot expand ~/: HOME is not set"));
}

TEST_CASE("a git-lfs pointer instead of a config file is reported as one") {
  const ScratchFolder folder;
  write_bytes(folder / "a.yaml", "version https://git-lfs.github.com/spec/v1\nsize 12\n");
  const auto config = load_config(folder / "a.yaml");
  REQUIRE(!config);
  CHECK(config.error().at(0).what.starts_with("this is a git-lfs pointer"));
}

TEST_CASE("a missing file is reported with a suggested file of the same folder") {
  const ScratchFolder folder;
  write_bytes(folder / "demo.yaml", synthetic);
  CHECK(load_config(folder / "demo.yaml"));
  const auto missing = load_config(folder / "dmeo.yaml");
  REQUIRE(!missing);
  CHECK(to_error(missing.error()).message ==
        (folder / "dmeo.yaml").string() +
            ": cannot open: No such file or directory; did you mean \"" +
            (folder / "demo.yaml").string() + "\"?");
  const auto is_folder = load_config(folder.path());
  REQUIRE(!is_folder);
  CHECK(is_folder.error().at(0).what == "a folder, not a config file");
  std::filesystem::create_symlink("loop.yaml", folder / "loop.yaml");
  const auto unreadable = load_config(folder / "loop.yaml");
  REQUIRE(!unreadable);
  CHECK(unreadable.error().at(0).suggestion.empty()); // the file exists
}

TEST_CASE("a run without a name is named after its file if that is a valid folder name") {
  const ScratchFolder folder;
  for (const auto& [file, name] : {std::pair{"my job.yaml", "my job"}, std::pair{"a.b.yml", "a.b"},
                                   std::pair{"a\nb.yaml", "run"}}) {
    CAPTURE(file);
    write_bytes(folder / file, synthetic);
    CHECK(load_config(folder / file)->run.name == name);
  }
  const Lines named = {"run.name=other"};
  CHECK(load_config(folder / "my job.yaml", named)->run.name == "other");
  write_bytes(folder / "named.yaml", synthetic + "run: {name: inside}\n");
  CHECK(load_config(folder / "named.yaml")->run.name == "inside");
}

TEST_CASE("a file that is too long for a config is refused before it is parsed") {
  const ScratchFolder folder;
  write_bytes(folder / "a.yaml", synthetic + std::string(1 << 20, '\n'));
  const auto config = load_config(folder / "a.yaml");
  REQUIRE(!config);
  CHECK(config.error().at(0).what == "longer than 1 MiB, so not a config file");
  CHECK_FALSE(load_config("/dev/zero"));
}
