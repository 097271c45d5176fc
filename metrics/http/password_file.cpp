#include "metrics/http/password_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/net/descriptor.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace troupe::metrics {

namespace {

constexpr std::size_t longest_line = 1000;

tl::unexpected<Error> bad_password_file(const std::string& file, std::string_view why) {
  return fail(Errc::invalid_input, "metrics.password_file: {}: {}", echoed(file), why);
}

/// With an access list, as systemd sets for a service's credentials, the group bits are only the
/// upper limit of its entries.
bool is_open_to_others(int file, const struct stat& status) {
  const bool listed = ::fgetxattr(file, "system.posix_acl_access", nullptr, 0) > 0;
  return (status.st_mode & (listed ? S_IRWXO : S_IRWXG | S_IRWXO)) != 0;
}

} // namespace

Result<std::string> read_password(const std::string& file) {
  const net::Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (!opened || ::fstat(opened.number(), &status) != 0)
    return bad_password_file(file, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return bad_password_file(file, "it is not a file");
  if (is_open_to_others(opened.number(), status))
    return bad_password_file(file, "users other than its owner have access: run chmod 600 on it");
  std::array<char, longest_line + 2> bytes{};
  const auto count = ::read(opened.number(), bytes.data(), bytes.size());
  if (count < 0)
    return bad_password_file(file, std::strerror(errno));
  std::string_view text{bytes.data(), static_cast<std::size_t>(count)};
  if (text.ends_with('\n'))
    text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  if (text.empty())
    return bad_password_file(file, "it is empty, but must contain one line, the password");
  if (text.size() > longest_line || text.find_first_of("\r\n") != std::string_view::npos)
    return bad_password_file(
        file, fmt::format("it must contain one line, of at most {} bytes", longest_line));
  return std::string{text};
}

} // namespace troupe::metrics
