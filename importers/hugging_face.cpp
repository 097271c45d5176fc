// config.json of Hugging Face's GPT-2 and LLaMA. Missing keys get the defaults of GPT2Config and
// LlamaConfig: the sizes of gpt2 and llama-7b, and the default of each other key.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace troupe {

namespace of_hugging_face {
namespace {

constexpr double default_dropout = 0.1;

ForeignOutcome map_type(const ForeignContext&, const ForeignEntry& entry) {
  if (entry.text == "gpt2")
    return mapped({{"model.name", "gpt2"},
                   {"model.vocabulary", "50257", Firmness::default_value},
                   {"model.dropout", fmt::format("{}", default_dropout), Firmness::default_value}});
  if (entry.text == "llama")
    return mapped({{"model.name", "llama-7b"},
                   {"model.vocabulary", "32000", Firmness::default_value},
                   {"model.intermediate", "11008", Firmness::default_value},
                   {"model.norm_epsilon", "1e-6", Firmness::default_value}},
                  "the other keys set the size");
  return wrong(entry, "gpt2, llama");
}

ForeignOutcome map_dropout(const ForeignContext& context, const ForeignEntry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate < 0 || *rate >= 1)
    return wrong(entry, "a number, at least 0 and below 1");
  const auto* const other = entry.key == "embd_pdrop" ? "resid_pdrop" : "embd_pdrop";
  if (number_at(context, other).value_or(default_dropout) != *rate)
    return {Fate::refused,
            fmt::format("{} differs, but `model.dropout` is the rate of both", other)};
  return mapped({{"model.dropout", fmt::format("{}", *rate)}});
}

/// Accepts only the values that are built in.
ForeignMap only(std::vector<std::string> allowed) {
  return [=](const ForeignContext&, const ForeignEntry& entry) -> ForeignOutcome {
    if (std::ranges::count(allowed, entry.text) > 0)
      return {Fate::built_in, fmt::format("{} is the only value", value_text(entry))};
    return {Fate::refused, fmt::format("{}; troupe has {}", value_text(entry), allowed[0])};
  };
}

/// Heads must be hidden_size / num_attention_heads wide.
ForeignOutcome expect_head_width(const ForeignContext& context, const ForeignEntry& entry) {
  const auto all = whole_at(context, "hidden_size"),
             count = whole_at(context, "num_attention_heads");
  const auto value = whole_of(entry);
  if (value && all && count && *value * *count == *all)
    return {Fate::built_in, "hidden_size / num_attention_heads"};
  return {Fate::refused, "heads are hidden_size / num_attention_heads wide"};
}

ForeignMap epsilon() {
  return number_to("model.norm_epsilon", "a number, 1e-12 to 1", 1e-12, 1);
}

ForeignRows gpt2_rows() {
  return {
      {"n_positions", Fate::mapped, "`model.positions`", count_to("model.positions")},
      {"n_embd", Fate::mapped, "`model.width`", count_to("model.width")},
      {"n_layer", Fate::mapped, "`model.layers`", count_to("model.layers")},
      {"n_head", Fate::mapped, "`model.heads`", count_to("model.heads")},
      {"n_inner", Fate::mapped, "`model.intermediate`", count_to("model.intermediate")},
      {"activation_function", Fate::built_in, "gelu_new", only({"gelu_new", "gelu_pytorch_tanh"})},
      {"layer_norm_epsilon", Fate::mapped, "`model.norm_epsilon`", epsilon()},
      {"scale_attn_weights", Fate::built_in, "true", only({"true"})},
      {"scale_attn_by_inverse_layer_idx", Fate::refused,
       "scores are divided by the square root of the head's width"},
      {"add_cross_attention", Fate::refused, "the models have no encoder"},
      {"reorder_and_upcast_attn", Fate::left_out, "scores are summed in fp32 in every precision"},
      {"attn_pdrop", Fate::left_out, "attention weights have no dropout"},
      {"embd_pdrop", Fate::mapped, "`model.dropout`, if resid_pdrop is the same", map_dropout},
      {"resid_pdrop", Fate::mapped, "`model.dropout`, if embd_pdrop is the same", map_dropout},
  };
}

ForeignRows llama_rows() {
  const auto theta = number_to("model.rope_theta", "a number, at least 1", 1);
  return {
      {"hidden_size", Fate::mapped, "`model.width`", count_to("model.width")},
      {"intermediate_size", Fate::mapped, "`model.intermediate`", count_to("model.intermediate")},
      {"num_hidden_layers", Fate::mapped, "`model.layers`", count_to("model.layers")},
      {"num_attention_heads", Fate::mapped, "`model.heads`", count_to("model.heads")},
      {"num_key_value_heads", Fate::mapped, "`model.kv_heads`", count_to("model.kv_heads")},
      {"head_dim", Fate::built_in, "hidden_size / num_attention_heads", expect_head_width},
      {"hidden_act", Fate::built_in, "silu", only({"silu"})},
      {"rms_norm_eps", Fate::mapped, "`model.norm_epsilon`", epsilon()},
      {"rope_theta", Fate::mapped, "`model.rope_theta`", theta},
      {"rope_parameters.rope_theta", Fate::mapped, "`model.rope_theta`", theta},
      {"rope_parameters.rope_type", Fate::built_in, "default", only({"default"})},
      {"rope_parameters.*", Fate::refused, "positions are not scaled"},
      {"rope_scaling.rope_type", Fate::built_in, "default", only({"default"})},
      {"rope_scaling.type", Fate::built_in, "default", only({"default"})},
      {"rope_scaling.*", Fate::refused, "positions are not scaled"},
      {"attention_bias", Fate::refused, "LLaMA's linear layers have no bias"},
      {"mlp_bias", Fate::refused, "LLaMA's linear layers have no bias"},
      {"attention_dropout", Fate::left_out, "the model has no dropout"},
      {"max_position_embeddings", Fate::left_out,
       "`data.sequence_length` is the length in training"},
      {"pretraining_tp", Fate::built_in, "linear layers are not split"},
  };
}

/// A factor that transformers multiplies by if the file has it.
ForeignOutcome expect_one(const ForeignContext&, const ForeignEntry& entry) {
  if (number_of(entry) == 1.0)
    return {Fate::idle, "1 does not scale anything"};
  return {Fate::refused, fmt::format("{}; troupe has 1", value_text(entry))};
}

/// Keys of other models, of custom code and of quantized weights: they change what the same weights
/// compute.
ForeignRows changing_rows() {
  return joined({
      refused("the model needs the folder's custom code",
              {"auto_map.AutoModel", "auto_map.AutoModelForCausalLM"}),
      refused("the models have no encoder", {"is_encoder_decoder"}),
      refused("all heads are computed", {"pruned_heads.*"}),
      refused("the models have no ALiBi positions", {"alibi"}),
      refused("each head of GPT-2 has its own keys and values", {"multi_query"}),
      refused("attention is computed before the MLP, not in parallel",
              {"parallel_attn", "use_parallel_residual"}),
      refused("weights must be F32, F16, BF16 or F64",
              {"quantization_config.*", "quantization.*", "compression_config.*"}),
      refused("each token attends to all tokens before it",
              {"sliding_window", "use_sliding_window", "attention_chunk_size"}),
      refused("the models have no experts",
              {"num_experts", "num_local_experts", "n_routed_experts"}),
      refused("queries and keys are not normalized", {"qk_layernorm", "use_qk_norm", "qk_norm"}),
      refused("scores and logits are not capped",
              {"attn_logit_softcapping", "final_logit_softcapping"}),
  });
}

/// Factors that transformers multiplies by if the file has them.
ForeignRows factor_rows() {
  auto rows = refused("only 1 is supported",
                      {"partial_rotary_factor", "rope_parameters.partial_rotary_factor",
                       "logit_scale", "logits_scaling", "embedding_multiplier",
                       "residual_multiplier", "attention_multiplier"});
  for (auto& row : rows)
    row.map = expect_one;
  return rows;
}

/// Keys that transformers or another program writes and that do not change what the weights
/// compute: training settings, text generation, names of a classifier's classes.
ForeignRows idle_rows() {
  const auto idle = [](std::initializer_list<const char*> keys) {
    return same_rows(Fate::idle, "does not affect what the weights compute", keys);
  };
  return joined(
      {idle({"architectures", "transformers_version", "use_cache", "bos_token_id", "eos_token_id",
             "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id",
             "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
             "_name_or_path", "name_or_path", "_commit_hash", "n_ctx", "n_special",
             "predict_special_tokens"}),
       idle({"gradient_checkpointing", "output_past", "output_attentions", "output_hidden_states",
             "output_scores", "return_dict", "return_dict_in_generate", "use_return_dict",
             "torchscript", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
             "summary_type", "summary_use_proj", "task_specific_params.*", "torch_dtype", "dtype",
             "use_bfloat16", "initializer_range"}),
       idle({"id2label.*", "label2id.*", "_num_labels", "num_labels", "problem_type",
             "finetuning_task", "prefix", "tokenizer_class", "model_max_length",
             "max_sequence_length", "max_seq_len", "seq_length"}),
       idle({"is_decoder", "is_llama_config", "rope_interleaved", "attn_implementation",
             "_attn_implementation", "_attn_implementation_autoset",
             "_attn_implementation_internal", "_flash_attn_2_enabled", "use_flash_attention",
             "use_flash_attention_2", "attention_softmax_in_fp32",
             "scale_attention_softmax_in_fp32", "chunk_size_feed_forward",
             "cross_attention_hidden_size", "tie_encoder_decoder", "remove_invalid_values",
             "tf_legacy_loss", "loss_type"}),
       idle({"auto_map.*", "unsloth_version", "unsloth_fixed", "neftune_noise_alpha",
             "transformers_weights", "\"transformers.js_config\".*"}),
       idle({"max_length", "min_length", "do_sample", "early_stopping", "num_beams",
             "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p"}),
       idle({"repetition_penalty", "length_penalty", "no_repeat_ngram_size",
             "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences",
             "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens"})});
}

} // namespace
} // namespace of_hugging_face

ForeignRows hugging_face_rows() {
  using namespace of_hugging_face;
  return joined({
      {{.key = "model_type",
        .fate = Fate::mapped,
        .says = "`model.name`: gpt2, llama",
        .map = map_type,
        .needed = true},
       {"vocab_size", Fate::mapped, "`model.vocabulary`", count_to("model.vocabulary")},
       {"tie_word_embeddings", Fate::mapped, "`model.head`: tied, own",
        switch_to("model.head", "tied", "own")}},
      only_with("model_type=gpt2", gpt2_rows()),
      only_with("model_type=llama", llama_rows()),
      changing_rows(),
      factor_rows(),
      idle_rows(),
  });
}

} // namespace troupe
