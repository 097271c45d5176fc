// config.json of Hugging Face's GPT-2 and LLaMA. What it does not say is what GPT2Config and
// LlamaConfig take: the sizes of gpt2 and llama-7b, and what is set beside their names.
#include "detail/tables.hpp"
#include "detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace troupe {

namespace of_hugging_face {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

constexpr std::string_view gpt2 = "model_type=gpt2", llama = "model_type=llama";

constexpr double usual_dropout = 0.1;

Outcome map_type(const Context&, const Entry& entry) {
  if (entry.text == "gpt2")
    return mapped({{"model.name", "gpt2"},
                   {"model.vocabulary", "50257", Firmness::usual},
                   {"model.dropout", number_text(usual_dropout), Firmness::usual}});
  if (entry.text == "llama")
    return mapped({{"model.name", "llama-7b"},
                   {"model.vocabulary", "32000", Firmness::usual},
                   {"model.intermediate", "11008", Firmness::usual},
                   {"model.norm_epsilon", "1e-6", Firmness::usual}},
                  "the other keys say which size");
  return wrong(entry, "gpt2, llama");
}

/// A whole number that a key of troupe takes as it is.
template <char const* key>
Outcome map_whole(const Context&, const Entry& entry) {
  const auto value = whole_of(entry);
  if (!value || *value < 1)
    return wrong(entry, "a whole number, at least 1");
  return mapped({{key, fmt::format("{}", *value)}});
}

constexpr char vocabulary[] = "model.vocabulary", positions[] = "model.positions",
               width[] = "model.width", layers[] = "model.layers", heads[] = "model.heads",
               kv_heads[] = "model.kv_heads", intermediate[] = "model.intermediate";

Outcome map_tied(const Context&, const Entry& entry) {
  const auto tied = truth_of(entry);
  if (!tied)
    return wrong(entry, "true or false");
  return mapped({{"model.head", *tied ? "tied" : "own"}});
}

Outcome map_theta(const Context&, const Entry& entry) {
  const auto theta = number_of(entry);
  if (!theta || *theta < 1)
    return wrong(entry, "a number, at least 1");
  return mapped({{"model.rope_theta", number_text(*theta)}});
}

Outcome map_epsilon(const Context&, const Entry& entry) {
  const auto epsilon = number_of(entry);
  if (!epsilon || *epsilon < 1e-12 || *epsilon > 1)
    return wrong(entry, "a number, 1e-12 to 1");
  return mapped({{"model.norm_epsilon", number_text(*epsilon)}});
}

Outcome map_dropout(const Context& context, const Entry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate < 0 || *rate >= 1)
    return wrong(entry, "a number, at least 0 and below 1");
  const auto* const other = entry.key == "embd_pdrop" ? "resid_pdrop" : "embd_pdrop";
  if (number_at(context, other).value_or(usual_dropout) != *rate)
    return with_fate(Fate::refused,
                     fmt::format("{} is another; `model.dropout` is the rate of both", other));
  return mapped({{"model.dropout", number_text(*rate)}});
}

/// One of the values that are built in here.
template <auto const& allowed>
Outcome expect(const Context&, const Entry& entry) {
  if (std::ranges::count(allowed, entry.text) > 0)
    return with_fate(Fate::built_in, fmt::format("{} is what there is", value_text(entry)));
  return with_fate(Fate::refused, fmt::format("{}; troupe has {}", value_text(entry), allowed[0]));
}

constexpr std::array<std::string_view, 2> gelu = {"gelu_new", "gelu_pytorch_tanh"};
constexpr std::array<std::string_view, 1> silu = {"silu"}, plain_rope = {"default"},
                                          scaled = {"true"};

/// Heads are as wide as the width allows.
Outcome expect_head_width(const Context& context, const Entry& entry) {
  const auto all = whole_at(context, "hidden_size"),
             count = whole_at(context, "num_attention_heads");
  const auto value = whole_of(entry);
  if (value && all && count && *value * *count == *all)
    return with_fate(Fate::built_in, "hidden_size / num_attention_heads");
  return with_fate(Fate::refused, "heads are hidden_size / num_attention_heads wide");
}

ForeignRows gpt2_rows() {
  return {
      {"n_positions", Fate::mapped, "`model.positions`", gpt2, {}, map_whole<positions>},
      {"n_embd", Fate::mapped, "`model.width`", gpt2, {}, map_whole<width>},
      {"n_layer", Fate::mapped, "`model.layers`", gpt2, {}, map_whole<layers>},
      {"n_head", Fate::mapped, "`model.heads`", gpt2, {}, map_whole<heads>},
      {"n_inner", Fate::mapped, "`model.intermediate`", gpt2, {}, map_whole<intermediate>},
      {"activation_function", Fate::built_in, "gelu_new", gpt2, {}, expect<gelu>},
      {"layer_norm_epsilon", Fate::mapped, "`model.norm_epsilon`", gpt2, {}, map_epsilon},
      {"scale_attn_weights", Fate::built_in, "true", gpt2, {}, expect<scaled>},
      {"scale_attn_by_inverse_layer_idx", Fate::refused,
       "scores are divided by the root of the head's width", gpt2},
      {"add_cross_attention", Fate::refused, "there is no encoder", gpt2},
      {"reorder_and_upcast_attn", Fate::left_out, "scores are summed in fp32 in every precision",
       gpt2},
      {"attn_pdrop", Fate::left_out, "attention's weights are never dropped", gpt2},
      {"embd_pdrop", Fate::mapped, "`model.dropout`: as resid_pdrop", gpt2, {}, map_dropout},
      {"resid_pdrop", Fate::mapped, "`model.dropout`: as embd_pdrop", gpt2, {}, map_dropout},
  };
}

ForeignRows llama_rows() {
  return {
      {"hidden_size", Fate::mapped, "`model.width`", llama, {}, map_whole<width>},
      {"intermediate_size",
       Fate::mapped,
       "`model.intermediate`",
       llama,
       {},
       map_whole<intermediate>},
      {"num_hidden_layers", Fate::mapped, "`model.layers`", llama, {}, map_whole<layers>},
      {"num_attention_heads", Fate::mapped, "`model.heads`", llama, {}, map_whole<heads>},
      {"num_key_value_heads", Fate::mapped, "`model.kv_heads`", llama, {}, map_whole<kv_heads>},
      {"head_dim",
       Fate::built_in,
       "hidden_size / num_attention_heads",
       llama,
       {},
       expect_head_width},
      {"hidden_act", Fate::built_in, "silu", llama, {}, expect<silu>},
      {"rms_norm_eps", Fate::mapped, "`model.norm_epsilon`", llama, {}, map_epsilon},
      {"rope_theta", Fate::mapped, "`model.rope_theta`", llama, {}, map_theta},
      {"rope_parameters.rope_theta", Fate::mapped, "`model.rope_theta`", llama, {}, map_theta},
      {"rope_parameters.rope_type", Fate::built_in, "default", llama, {}, expect<plain_rope>},
      {"rope_scaling.rope_type", Fate::built_in, "default", llama, {}, expect<plain_rope>},
      {"rope_scaling.type", Fate::built_in, "default", llama, {}, expect<plain_rope>},
      {"rope_scaling.*", Fate::refused, "positions are not scaled", llama},
      {"attention_bias", Fate::refused, "products of LLaMA have no bias", llama},
      {"mlp_bias", Fate::refused, "products of LLaMA have no bias", llama},
      {"attention_dropout", Fate::left_out, "there is no dropout", llama},
      {"max_position_embeddings", Fate::left_out, "`data.sequence_length` is how far it is trained",
       llama},
      {"pretraining_tp", Fate::built_in, "products are not cut into parts", llama},
  };
}

/// What says nothing of the model, whatever its value is.
ForeignRows idle_rows() {
  ForeignRows rows;
  for (const auto* const key :
       {"architectures", "transformers_version", "use_cache", "bos_token_id", "eos_token_id",
        "pad_token_id", "_name_or_path", "n_ctx", "gradient_checkpointing", "output_past",
        "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
        "summary_use_proj", "task_specific_params.*", "torch_dtype", "dtype", "initializer_range"})
    rows.push_back({key, Fate::built_in, "says nothing of what the weights compute"});
  return rows;
}

} // namespace
} // namespace of_hugging_face

ForeignRows hugging_face_rows() {
  using namespace of_hugging_face;
  ForeignRows rows = {
      {.key = "model_type",
       .usual = Fate::mapped,
       .says = "`model.name`: gpt2, llama",
       .map = map_type,
       .needed = true},
      {"vocab_size", Fate::mapped, "`model.vocabulary`", {}, {}, map_whole<vocabulary>},
      {"tie_word_embeddings", Fate::mapped, "`model.head`: tied, own", {}, {}, map_tied},
  };
  for (auto* part : {gpt2_rows, llama_rows, idle_rows})
    std::ranges::move(part(), std::back_inserter(rows));
  return rows;
}

} // namespace troupe
