/// Errors as values. A function that can fail returns Result<T>. The error says what happened and,
/// if known, where: node, rank, actor, step.
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
  out_of_memory,     ///< a device has too little memory; the message names the request
  unsupported,       ///< this build or machine cannot do what was asked: exit code 2
  collective,        ///< a collective failed, timed out or was aborted
  numeric,           ///< a loss or gradient is not finite
  network,           ///< a port or peer could not be reached
  stopped,           ///< ended on request
  internal,          ///< a bug in troupe
};

std::string_view to_string(Errc code);

/// Where an error happened. Unknown parts stay empty or negative.
struct Where {
  std::string node = {};
  std::string actor = {};
  int rank = -1;
  std::int64_t step = -1; ///< counted from 0; to_string prints it counted from 1
};

/// Location of an error's cause, seen from the process that reports it.
enum class Whose : std::uint8_t {
  here,   ///< this process: its files, flags, data, version
  there,  ///< another node, which may be frozen, absent or misconfigured
  between ///< the network, names, clocks: the cause may go away without action
};

struct Error {
  Errc code = Errc::internal;
  std::string message;
  Where where = {};
  Whose whose = Whose::here;

  /// Returns "numeric: the loss is nan (rank 1, step 42, actor worker)".
  std::string to_string() const;
  /// 2 if the input of this process is wrong, else 1. docs/exit-codes.md describes the
  /// consequences.
  int exit_code() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// core/fail.hpp has a shorter form: `return fail(Errc::io, "cannot open {}", path);` (fmt syntax).
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

} // namespace troupe
