-- TinyLlama (Zhang et al., 2024), 1.1B: for graphs/llama.lua.
return {
    model_type = "llama",
    vocab_size = 32000, hidden_size = 2048, intermediate_size = 5632,
    num_hidden_layers = 22, num_attention_heads = 32, num_key_value_heads = 4,
    rms_norm_eps = 1e-5, rope_theta = 10000, tie_word_embeddings = false,
}
