-- Qwen2.5, 0.5B: for graphs/qwen2.lua.
return {
    model_type = "qwen2",
    vocab_size = 151936, hidden_size = 896, intermediate_size = 4864,
    num_hidden_layers = 24, num_attention_heads = 14, num_key_value_heads = 2,
    rms_norm_eps = 1e-6, rope_theta = 1000000, tie_word_embeddings = true,
}
