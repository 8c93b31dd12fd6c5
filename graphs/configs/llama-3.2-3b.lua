-- Llama 3.2, 3B: for graphs/llama.lua.
return {
    model_type = "llama",
    vocab_size = 128256, hidden_size = 3072, intermediate_size = 8192,
    num_hidden_layers = 28, num_attention_heads = 24, num_key_value_heads = 8,
    head_dim = 128, rms_norm_eps = 1e-5, rope_theta = 500000, tie_word_embeddings = true,
    rope_scaling = {rope_type = "llama3", factor = 32, low_freq_factor = 1, high_freq_factor = 4,
        original_max_position_embeddings = 8192},
}
