-- Mistral 7B v0.3, without a window: for graphs/mistral.lua.
return {
    model_type = "mistral",
    vocab_size = 32768, hidden_size = 4096, intermediate_size = 14336,
    num_hidden_layers = 32, num_attention_heads = 32, num_key_value_heads = 8,
    rms_norm_eps = 1e-5, rope_theta = 1000000, tie_word_embeddings = false,
    sliding_window = 0,
}
