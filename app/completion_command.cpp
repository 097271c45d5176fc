// `troupe completion`: prints the completion script of a shell. Each script asks the program for
// candidates (`troupe __complete WORD...`).
#include "app/add_command.hpp"
#include "core/atomic_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace troupe::app {

namespace {

struct CompletionArguments {
  std::string shell, output;
};

constexpr std::string_view bash_script =
    R"shell(# bash completion for @PROGRAM@: gets the candidates from the program itself.
_@FUNCTION@() {
  local line=${COMP_LINE:0:COMP_POINT} words word stem current reply name kinds kind
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  word=${words[-1]}
  # Words of readline begin after = and :, which are in COMP_WORDBREAKS.
  current=${word##*[=:]}
  stem=${word%"$current"}
  COMPREPLY=()
  while IFS=$'\t' read -r reply _; do
    case $reply in
      :nospace) compopt -o nospace 2>/dev/null ;;
      :folders)
        compopt -o filenames 2>/dev/null
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -d -- "$current")
        ;;
      :files*)
        compopt -o filenames 2>/dev/null
        kinds=${reply#:files}
        while IFS= read -r name; do
          [[ -n $kinds && ! -d $name ]] || COMPREPLY+=("$name")
          [[ ! -d $name ]] || continue
          for kind in $kinds; do [[ $name != *."$kind" ]] || COMPREPLY+=("$name"); done
        done < <(compgen -f -- "$current")
        ;;
      *) COMPREPLY+=("${reply#"$stem"}") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _@FUNCTION@ @PROGRAM@
)shell";

constexpr std::string_view zsh_script = R"shell(#compdef @PROGRAM@
# zsh completion for @PROGRAM@: gets the candidates from the program itself.
_@FUNCTION@() {
  local line kinds
  local -a lines candidates nospace
  lines=("${(@f)$(${~words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    case $line in
      :nospace) nospace=(-S '') ;;
      :folders) compset -P '*='; _files -/ ;;
      :files*)
        kinds=${${line#:files}# }
        compset -P '*='
        if [[ -n $kinds ]]; then _files -g "*.(${kinds// /|})"; else _files; fi
        ;;
      ?*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( ! $#candidates )) || _describe -t values '@PROGRAM@' candidates $nospace
}
if [[ $funcstack[1] = _@FUNCTION@ ]]; then _@FUNCTION@ "$@"; else compdef _@FUNCTION@ @PROGRAM@; fi
)shell";

constexpr std::string_view fish_script =
    R"shell(# fish completion for @PROGRAM@: gets the candidates from the program itself.
function __@FUNCTION@_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case ':nospace'
            case ':folders'
                __fish_complete_directories (string replace -r '^--[a-z-]+=' '' -- $word)
            case ':files*'
                __fish_complete_path (string replace -r '^--[a-z-]+=' '' -- $word)
            case '*'
                echo $line
        end
    end
end
complete -c @PROGRAM@ -f -a '(__@FUNCTION@_complete)'
)shell";

/// Makes a name usable in a shell function's name: "my_trainer".
std::string in_function_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// `program`: the name of the program.
std::string completion_script(std::string_view shell, const std::string& program) {
  std::string script{shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script};
  replace_all(script, "@PROGRAM@", program);
  replace_all(script, "@FUNCTION@", in_function_name(program));
  return script;
}

Status print_script(const CompletionArguments& arguments, const std::string& program) {
  const auto script = completion_script(arguments.shell, program);
  if (!arguments.output.empty())
    return write_file_atomically(arguments.output, script);
  fmt::print("{}", script);
  return {};
}

} // namespace

void add_completion_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<CompletionArguments>(
      app, action, "completion",
      "Print the script with which a shell completes commands, options and config keys",
      [program = app.get_name()](const CompletionArguments& given) {
        return print_script(given, program);
      });
  add_choice(command, "shell", {"bash", "zsh", "fish"}, arguments.shell, "bash, zsh or fish")
      ->required();
  add_value(command, "-o,--output", "FILE", arguments.output,
            "Write to this file instead of stdout");
}

} // namespace troupe::app
