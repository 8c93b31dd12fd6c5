-- Qwen3, 8B: for graphs/qwen3.lua.
return {
    model_type = "qwen3",
    vocab_size = 151936, hidden_size = 4096, intermediate_size = 12288,
    num_hidden_layers = 36, num_attention_heads = 32, num_key_value_heads = 8,
    head_dim = 128, rms_norm_eps = 1e-6, rope_theta = 1000000, tie_word_embeddings = false,
}
