/// The staging directory: a folder inside the run's folder in which one writer's files are written
/// before they get their names. A writer that takes over the run from another one, which may still
/// live, removes the other's staging directory. The other writer can then neither finish a file nor
/// begin one: it cannot create the folder again, and without it has no file to rename.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <string_view>

namespace troupe {

/// Returns RUN/.drafts-WRITER.
std::filesystem::path staging_of(const std::filesystem::path& run, std::string_view writer);

enum class Claim {
  begins,    ///< a job: no other writer has the right to write
  takes_over ///< from another leader of the job; a later leader may have taken over too
};

/// Creates the writer's folder, empty, and removes those of all other writers. A writer's name
/// begins with the number of its generation, so the later of two concurrent takeovers wins. The
/// run's folder must exist. Blocks. Errors: io, no_space; network when a later leader has claimed
/// the run.
Status claim_staging(const std::filesystem::path& run, std::string_view writer,
                     Claim claim = Claim::begins);

/// Removes the folders of writers with lower numbers: a node that follows this writer no longer
/// writes. Ignores folders that cannot be removed.
void remove_earlier_staging(const std::filesystem::path& run, std::string_view writer);

/// Removes the folder of a writer that has finished, if it still exists.
void withdraw_staging(const std::filesystem::path& run, std::string_view writer);

} // namespace troupe
