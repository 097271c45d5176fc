// `troupe man`: manual pages, generated from the commands and config keys.
#include "app/command_tree.hpp"
#include "app/commands.hpp"
#include "app/manual.hpp"
#include "app/report_error.hpp"
#include "core/atomic_file.hpp"
#include "core/fail.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace troupe::app {

namespace {

Status write_pages(const std::vector<ManualPage>& pages, const std::filesystem::path& folder) {
  TROUPE_TRY(make_folders(folder));
  for (const auto& page : pages)
    TROUPE_TRY(write_file_atomically(folder / page.file(), page.text));
  return {};
}

/// Prints the page with this name or of this command; empty: of the program.
Status print_page(const std::vector<ManualPage>& pages, const std::string& name) {
  const auto of_program = pages.front().name + "-";
  std::vector<std::string> names;
  for (const auto& page : pages) {
    const auto short_name =
        page.name.starts_with(of_program) ? page.name.substr(of_program.size()) : page.name;
    if (name.empty() || name == page.name || name == short_name) {
      fmt::print("{}", page.text);
      return {};
    }
    names.push_back(short_name);
  }
  return fail(Errc::invalid_input, "{}", unknown_name("page", name, names));
}

} // namespace

void add_manual_command(CLI::App& app, Action& action) {
  struct Arguments {
    std::string page, folder;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* command = app.add_subcommand("man", "Print a manual page: troupe man train | man -l -");
  command
      ->add_option("command", arguments->page,
                   "A command or a page; troupe.yaml describes the config file")
      ->type_name("COMMAND");
  command->add_option("--folder", arguments->folder, "Write all pages to this folder")
      ->type_name("FOLDER");
  command->callback([&app, &action, arguments] {
    action = [&app, arguments](const Catalogue& catalogue) {
      const auto pages = manual_pages(app, catalogue);
      const auto done = arguments->folder.empty() ? print_page(pages, arguments->page)
                                                  : write_pages(pages, arguments->folder);
      return done ? success : report_error(done.error());
    };
  });
}

} // namespace troupe::app
