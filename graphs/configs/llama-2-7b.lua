-- Llama 2, 7B: for graphs/llama.lua.
return {
    model_type = "llama",
    vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008,
    num_hidden_layers = 32, num_attention_heads = 32, num_key_value_heads = 32,
    rms_norm_eps = 1e-5, rope_theta = 10000, tie_word_embeddings = false,
}
