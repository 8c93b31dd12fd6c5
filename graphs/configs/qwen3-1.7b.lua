-- Qwen3, 1.7B: for graphs/qwen3.lua.
return {
    model_type = "qwen3",
    vocab_size = 151936, hidden_size = 2048, intermediate_size = 6144,
    num_hidden_layers = 28, num_attention_heads = 16, num_key_value_heads = 8,
    head_dim = 128, rms_norm_eps = 1e-6, rope_theta = 1000000, tie_word_embeddings = true,
}
