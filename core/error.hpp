/// Errors as values. A function that can fail returns Result<T>; the error says what happened, and
/// where in the company it happened (node, rank, actor, step) as far as that is known.
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

enum class Errc : std::uint8_t {
  invalid_input = 1, ///< the user's config, file or argument is wrong: exit code 2
  data,              ///< a data set is missing, truncated or inconsistent: exit code 2
  io,                ///< the operating system refused a file operation
  no_space,          ///< the disk is full
  corrupt,           ///< a checksum or a format does not match
  device,            ///< a device or its library failed
  out_of_memory,     ///< a device has no room; the message says what was asked
  unsupported,       ///< this build or machine cannot do what was asked: exit code 2
  collective,        ///< a collective failed, timed out or was aborted
  numeric,           ///< a loss or gradient is not finite
  network,           ///< a port or peer could not be reached
  stopped,           ///< ended because somebody asked for it
  internal,          ///< a bug of ours
};

std::string_view to_string(Errc code);

/// Where an error happened. Unknown parts stay empty or negative.
struct Where {
  std::string node = {};
  std::string actor = {};
  int rank = -1;
  std::int64_t step = -1; ///< counted from 0, and from 1 in to_string: for people
};

/// Where the cause of an error is, seen from the process that reports it.
enum class Whose : std::uint8_t {
  here,   ///< this process: its files, flags, data, version
  there,  ///< another node, which may be frozen, absent or wrong itself
  between ///< the network, names, clocks: it may pass by itself
};

struct Error {
  Errc code = Errc::internal;
  std::string message;
  Where where = {};
  Whose whose = Whose::here;

  /// "numeric: the loss is nan (rank 1, step 42, actor worker)".
  std::string to_string() const;
  /// 2 when the input of this process is wrong, else 1: what follows from each is in
  /// docs/exit-codes.md.
  int exit_code() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// `return fail(Errc::io, "cannot open {}", path);` (fmt syntax) is in core/fail.hpp.
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

} // namespace troupe
