-- Qwen2.5, 7B: for graphs/qwen2.lua.
return {
    model_type = "qwen2",
    vocab_size = 152064, hidden_size = 3584, intermediate_size = 18944,
    num_hidden_layers = 28, num_attention_heads = 28, num_key_value_heads = 4,
    rms_norm_eps = 1e-6, rope_theta = 1000000, tie_word_embeddings = false,
}
