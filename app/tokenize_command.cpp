// troupe tokenize: counts or prints tokens of texts, or writes them to a file.
#include "app/add_command.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/token_file.hpp"
#include "data/tokens/tokenize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::app {

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

struct TokenizeArguments {
  std::vector<std::string> texts; ///< empty or "-": standard input, as one document
  std::string tokenizer = "bytes", split = "auto", text_key = "text", output;
  bool ids = false;
};

/// Prints one line of token ids for each document. `begins`: at the start of a document.
void print_ids(std::span<const data::TokenId> ids, data::TokenId end, bool& begins) {
  for (const auto id : ids) {
    fmt::print("{}{}", begins ? "" : " ", id);
    begins = id == end;
    if (begins)
      fmt::print("\n");
  }
}

Result<std::vector<data::TextFile>> find_all(const std::vector<std::string>& texts) {
  std::vector<data::TextFile> all;
  for (const auto& text : texts) {
    TROUPE_TRY(auto found, data::find_texts(text));
    std::ranges::move(found.files, std::back_inserter(all));
    if (const auto line = found.left_out.unread_text(); !line.empty())
      say_line(fmt::format("{}: {}", escaped(text), line));
  }
  return all;
}

void print_counts(const data::TextCounts& counts, const data::Tokenizer& tokenizer,
                  std::chrono::duration<double> time) {
  const auto bytes = static_cast<double>(counts.bytes);
  fmt::print("{} document{}, {} bytes\n", counts.documents, counts.documents == 1 ? "" : "s",
             counts.bytes);
  fmt::print("{} tokens, vocabulary of {} ids, {:.3f} tokens per byte\n", counts.tokens,
             tokenizer.vocabulary_size(),
             bytes > 0 ? static_cast<double>(counts.tokens) / bytes : 0);
  fmt::print("{:.2f} s, {:.1f} MB/s\n", time.count(),
             time.count() > 0 ? bytes / 1e6 / time.count() : 0);
}

Status check_output(const std::string& output) {
  if (output.empty() || fs::path{output}.extension() == ".tokens")
    return {};
  return fail(Errc::invalid_input,
              "--output {} does not end in .tokens, by which data.root recognizes token files",
              escaped(output));
}

Status tokenize(const TokenizeArguments& arguments) {
  TROUPE_TRY(check_output(arguments.output));
  const auto split = choice_named<TokenizerSplit>(arguments.split);
  TROUPE_TRY(const auto tokenizer, data::open_tokenizer(arguments.tokenizer, *split));
  const bool of_input = arguments.texts.empty() || arguments.texts == std::vector{"-"s};
  TROUPE_TRY(const auto files, find_all(of_input ? std::vector<std::string>{} : arguments.texts));
  std::optional<data::TokenWriter> writer;
  if (!arguments.output.empty()) {
    TROUPE_TRY(auto sources, data::fingerprint_of(files, arguments.text_key));
    TROUPE_TRY(auto created,
               data::TokenWriter::create(arguments.output, *tokenizer, std::move(sources)));
    writer.emplace(std::move(created));
  }
  bool begins = true;
  const auto take = [&](std::span<const data::TokenId> ids) -> Status {
    if (writer)
      TROUPE_TRY(writer->append(ids));
    if (arguments.ids)
      print_ids(ids, tokenizer->end_of_document(), begins);
    return {};
  };
  const auto begin = std::chrono::steady_clock::now();
  TROUPE_TRY(const auto counts, of_input
                                    ? data::tokenize(stdin, "standard input", tokenizer, take)
                                    : data::tokenize(files, arguments.text_key, tokenizer, take));
  if (writer)
    TROUPE_TRY(writer->commit());
  if (!arguments.ids)
    print_counts(counts, *tokenizer, std::chrono::steady_clock::now() - begin);
  return {};
}

} // namespace

void add_tokenize_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<TokenizeArguments>(
      app, action, "tokenize", "Count, print or write the tokens of texts", tokenize);
  add_value(command, "TEXT", "PATH", arguments.texts,
            "Files, folders, JSON lines (.jsonl); -, or none: standard input");
  command.add_option("--tokenizer", arguments.tokenizer, "bytes, or a path, as for data.tokenizer")
      ->capture_default_str();
  add_choice(command, "--split",
             {choice_words<TokenizerSplit>.begin(), choice_words<TokenizerSplit>.end()},
             arguments.split,
             "How text is split into words, if the tokenizer's files do not define it");
  command.add_option("--text-key", arguments.text_key, "Key of the text in JSON lines")
      ->capture_default_str();
  add_value(command, "--output,-o", "PATH", arguments.output,
            "Write a token file, NAME.tokens, for data.root");
  command.add_flag("--ids", arguments.ids,
                   "Print token ids instead of counts, one line per document");
}

} // namespace troupe::app
