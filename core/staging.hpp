/// Where the files of a run are written before they get their names: a folder in the run's folder,
/// which belongs to one writer. Who takes the run over from a writer that may still live removes
/// that one's folder. From then on the other can neither finish what it had begun nor begin
/// anything: it cannot make the folder again, and without it has no file to give a name to.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <string_view>

namespace troupe {

/// RUN/.drafts-WRITER
std::filesystem::path staging_of(const std::filesystem::path& run, std::string_view writer);

enum class Claim {
  begins,    ///< a job: nobody else has the right
  takes_over ///< from another leader of the job; a later one may have done so meanwhile
};

/// Makes the writer's folder, empty, and removes those of all others. A writer's name begins with
/// the number of its generation, so that of two that take over at any pace the later one has it.
/// The run's folder exists. Blocks. Errors: io, no_space; network: a later one has it.
Status claim_staging(const std::filesystem::path& run, std::string_view writer,
                     Claim claim = Claim::begins);

/// Removes the folders of writers with lower numbers than this one: a node that follows this writer
/// no longer writes. Leaves folders that cannot be removed.
void remove_earlier_staging(const std::filesystem::path& run, std::string_view writer);

/// The writer has written all that it wanted to: its folder goes, if it is there yet.
void withdraw_staging(const std::filesystem::path& run, std::string_view writer);

} // namespace troupe
