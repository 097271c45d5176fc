// config.json of Hugging Face's GPT-2 and LLaMA. Missing keys get the defaults of GPT2Config and
// LlamaConfig: the sizes of gpt2 and llama-7b, and the default of each other key.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

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

constexpr double default_dropout = 0.1;

Outcome map_type(const Context&, const Entry& entry) {
  if (entry.text == "gpt2")
    return mapped({{"model.name", "gpt2"},
                   {"model.vocabulary", "50257", Firmness::default_value},
                   {"model.dropout", number_text(default_dropout), Firmness::default_value}});
  if (entry.text == "llama")
    return mapped({{"model.name", "llama-7b"},
                   {"model.vocabulary", "32000", Firmness::default_value},
                   {"model.intermediate", "11008", Firmness::default_value},
                   {"model.norm_epsilon", "1e-6", Firmness::default_value}},
                  "the other keys set the size");
  return wrong(entry, "gpt2, llama");
}

/// Maps a whole number to a key of troupe unchanged.
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
  const auto tied = boolean_of(entry);
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
  if (number_at(context, other).value_or(default_dropout) != *rate)
    return with_fate(Fate::refused,
                     fmt::format("{} differs, but `model.dropout` is the rate of both", other));
  return mapped({{"model.dropout", number_text(*rate)}});
}

/// Accepts only the values that are built in.
template <auto const& allowed>
Outcome expect(const Context&, const Entry& entry) {
  if (std::ranges::count(allowed, entry.text) > 0)
    return with_fate(Fate::built_in, fmt::format("{} is the only value", value_text(entry)));
  return with_fate(Fate::refused, fmt::format("{}; troupe has {}", value_text(entry), allowed[0]));
}

constexpr std::array<std::string_view, 2> gelu = {"gelu_new", "gelu_pytorch_tanh"};
constexpr std::array<std::string_view, 1> silu = {"silu"}, plain_rope = {"default"},
                                          scaled = {"true"};

/// Heads must be hidden_size / num_attention_heads wide.
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
       "scores are divided by the square root of the head's width", gpt2},
      {"add_cross_attention", Fate::refused, "the models have no encoder", gpt2},
      {"reorder_and_upcast_attn", Fate::left_out, "scores are summed in fp32 in every precision",
       gpt2},
      {"attn_pdrop", Fate::left_out, "attention weights have no dropout", gpt2},
      {"embd_pdrop",
       Fate::mapped,
       "`model.dropout`, if resid_pdrop is the same",
       gpt2,
       {},
       map_dropout},
      {"resid_pdrop",
       Fate::mapped,
       "`model.dropout`, if embd_pdrop is the same",
       gpt2,
       {},
       map_dropout},
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
      {"rope_parameters.*", Fate::refused, "positions are not scaled", llama},
      {"rope_scaling.rope_type", Fate::built_in, "default", llama, {}, expect<plain_rope>},
      {"rope_scaling.type", Fate::built_in, "default", llama, {}, expect<plain_rope>},
      {"rope_scaling.*", Fate::refused, "positions are not scaled", llama},
      {"attention_bias", Fate::refused, "LLaMA's linear layers have no bias", llama},
      {"mlp_bias", Fate::refused, "LLaMA's linear layers have no bias", llama},
      {"attention_dropout", Fate::left_out, "the model has no dropout", llama},
      {"max_position_embeddings", Fate::left_out,
       "`data.sequence_length` is the length in training", llama},
      {"pretraining_tp", Fate::built_in, "linear layers are not split", llama},
  };
}

/// A factor that transformers multiplies by if the file has it.
Outcome expect_one(const Context&, const Entry& entry) {
  if (number_of(entry) == 1.0)
    return with_fate(Fate::idle, "1 does not scale anything");
  return with_fate(Fate::refused, fmt::format("{}; troupe has 1", value_text(entry)));
}

/// Keys of other models, of custom code and of quantized weights: they change what the same weights
/// compute.
ForeignRows changing_rows() {
  ForeignRows rows = {
      {"auto_map.AutoModel", Fate::refused, "the model needs the folder's custom code"},
      {"auto_map.AutoModelForCausalLM", Fate::refused, "the model needs the folder's custom code"},
      {"is_encoder_decoder", Fate::refused, "the models have no encoder"},
      {"pruned_heads.*", Fate::refused, "all heads are computed"},
      {"alibi", Fate::refused, "the models have no ALiBi positions"},
      {"multi_query", Fate::refused, "each head of GPT-2 has its own keys and values"},
      {"parallel_attn", Fate::refused, "attention is computed before the MLP, not in parallel"},
      {"use_parallel_residual", Fate::refused,
       "attention is computed before the MLP, not in parallel"},
  };
  for (const auto* const key : {"quantization_config.*", "quantization.*", "compression_config.*"})
    rows.push_back({key, Fate::refused, "weights must be F32, F16, BF16 or F64"});
  for (const auto* const key : {"sliding_window", "use_sliding_window", "attention_chunk_size"})
    rows.push_back({key, Fate::refused, "each token attends to all tokens before it"});
  for (const auto* const key : {"num_experts", "num_local_experts", "n_routed_experts"})
    rows.push_back({key, Fate::refused, "the models have no experts"});
  for (const auto* const key : {"qk_layernorm", "use_qk_norm", "qk_norm"})
    rows.push_back({key, Fate::refused, "queries and keys are not normalized"});
  for (const auto* const key : {"attn_logit_softcapping", "final_logit_softcapping"})
    rows.push_back({key, Fate::refused, "scores and logits are not capped"});
  for (const auto* const key :
       {"partial_rotary_factor", "rope_parameters.partial_rotary_factor", "logit_scale",
        "logits_scaling", "embedding_multiplier", "residual_multiplier", "attention_multiplier"})
    rows.push_back({key, Fate::refused, "only 1 is supported", {}, {}, expect_one});
  return rows;
}

/// Keys that transformers or another program writes and that do not change what the weights
/// compute: training settings, text generation, names of a classifier's classes.
ForeignRows idle_rows() {
  ForeignRows rows;
  for (const auto* const key : {"architectures",
                                "transformers_version",
                                "use_cache",
                                "bos_token_id",
                                "eos_token_id",
                                "pad_token_id",
                                "sep_token_id",
                                "cls_token_id",
                                "mask_token_id",
                                "unk_token_id",
                                "decoder_start_token_id",
                                "forced_bos_token_id",
                                "forced_eos_token_id",
                                "_name_or_path",
                                "name_or_path",
                                "_commit_hash",
                                "n_ctx",
                                "n_special",
                                "predict_special_tokens",
                                "gradient_checkpointing",
                                "output_past",
                                "output_attentions",
                                "output_hidden_states",
                                "output_scores",
                                "return_dict",
                                "return_dict_in_generate",
                                "use_return_dict",
                                "torchscript",
                                "summary_activation",
                                "summary_first_dropout",
                                "summary_proj_to_labels",
                                "summary_type",
                                "summary_use_proj",
                                "task_specific_params.*",
                                "torch_dtype",
                                "dtype",
                                "use_bfloat16",
                                "initializer_range",
                                "id2label.*",
                                "label2id.*",
                                "_num_labels",
                                "num_labels",
                                "problem_type",
                                "finetuning_task",
                                "prefix",
                                "tokenizer_class",
                                "model_max_length",
                                "max_sequence_length",
                                "max_seq_len",
                                "seq_length",
                                "is_decoder",
                                "is_llama_config",
                                "rope_interleaved",
                                "attn_implementation",
                                "_attn_implementation",
                                "_attn_implementation_autoset",
                                "_attn_implementation_internal",
                                "_flash_attn_2_enabled",
                                "use_flash_attention",
                                "use_flash_attention_2",
                                "attention_softmax_in_fp32",
                                "scale_attention_softmax_in_fp32",
                                "chunk_size_feed_forward",
                                "cross_attention_hidden_size",
                                "tie_encoder_decoder",
                                "remove_invalid_values",
                                "tf_legacy_loss",
                                "loss_type",
                                "auto_map.*",
                                "unsloth_version",
                                "unsloth_fixed",
                                "neftune_noise_alpha",
                                "transformers_weights",
                                "\"transformers.js_config\".*",
                                "max_length",
                                "min_length",
                                "do_sample",
                                "early_stopping",
                                "num_beams",
                                "num_beam_groups",
                                "diversity_penalty",
                                "temperature",
                                "top_k",
                                "top_p",
                                "typical_p",
                                "repetition_penalty",
                                "length_penalty",
                                "no_repeat_ngram_size",
                                "encoder_no_repeat_ngram_size",
                                "bad_words_ids",
                                "num_return_sequences",
                                "exponential_decay_length_penalty",
                                "suppress_tokens",
                                "begin_suppress_tokens"})
    rows.push_back({key, Fate::idle, "does not affect what the weights compute"});
  return rows;
}

} // namespace
} // namespace of_hugging_face

ForeignRows hugging_face_rows() {
  using namespace of_hugging_face;
  ForeignRows rows = {
      {.key = "model_type",
       .default_value = Fate::mapped,
       .says = "`model.name`: gpt2, llama",
       .map = map_type,
       .needed = true},
      {"vocab_size", Fate::mapped, "`model.vocabulary`", {}, {}, map_whole<vocabulary>},
      {"tie_word_embeddings", Fate::mapped, "`model.head`: tied, own", {}, {}, map_tied},
  };
  for (auto* part : {gpt2_rows, llama_rows, changing_rows, idle_rows})
    std::ranges::move(part(), std::back_inserter(rows));
  return rows;
}

} // namespace troupe
