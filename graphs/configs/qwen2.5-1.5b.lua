-- Qwen2.5, 1.5B: for graphs/qwen2.lua.
return {
    model_type = "qwen2",
    vocab_size = 151936, hidden_size = 1536, intermediate_size = 8960,
    num_hidden_layers = 28, num_attention_heads = 12, num_key_value_heads = 2,
    rms_norm_eps = 1e-6, rope_theta = 1000000, tie_word_embeddings = true,
}
