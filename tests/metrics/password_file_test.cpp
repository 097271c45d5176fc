#include "metrics/http/endpoint.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/stat.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

class PasswordFile {
public:
  explicit PasswordFile(std::string_view text, mode_t mode = 0600) {
    write_bytes(path(), text);
    REQUIRE(::chmod(path().c_str(), mode) == 0);
  }
  std::string path() const { return folder_ / "password"; }
  /// Returns the password or the error.
  std::string read() const {
    const auto password = read_password(path());
    if (password)
      return *password;
    CHECK(password.error().code == Errc::invalid_input);
    CHECK(has(password.error().message, "metrics.password_file: " + path() + ": "));
    return "wrong: " + password.error().message;
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE("a password is the only line of its file") {
  CHECK(PasswordFile{"secret\n"}.read() == "secret");
  CHECK(PasswordFile{"secret"}.read() == "secret");
  CHECK(PasswordFile{" with spaces : ü\r\n", 0400}.read() == " with spaces : ü");
  CHECK(PasswordFile{std::string(1000, 'x') + "\n"}.read() == std::string(1000, 'x'));
}

TEST_CASE("a password file that others may read, or without a password, is refused") {
  for (const mode_t mode : {0640, 0604, 0644, 0660, 0601})
    CHECK(has(PasswordFile{"secret\n", mode}.read(),
              "users other than its owner have access: run chmod 600 on it"));
  CHECK(has(PasswordFile{""}.read(), "it is empty"));
  CHECK(has(PasswordFile{"\n"}.read(), "it is empty"));
  CHECK(has(PasswordFile{"one\ntwo\n"}.read(), "one line"));
  CHECK(has(PasswordFile{std::string(1001, 'x')}.read(), "one line"));
  const ScratchFolder folder;
  const auto missing = read_password(folder / "missing");
  REQUIRE_FALSE(missing);
  CHECK(has(missing.error().message, "No such file"));
  const auto of_a_folder = read_password(folder.path());
  REQUIRE_FALSE(of_a_folder);
  CHECK(has(of_a_folder.error().message, "it is not a file"));
}
