-- Llama 2, 13B: for graphs/llama.lua.
return {
    model_type = "llama",
    vocab_size = 32000, hidden_size = 5120, intermediate_size = 13824,
    num_hidden_layers = 40, num_attention_heads = 40, num_key_value_heads = 40,
    rms_norm_eps = 1e-5, rope_theta = 10000, tie_word_embeddings = false,
}
