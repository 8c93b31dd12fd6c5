-- Gemma 2, 2B: for graphs/gemma2.lua.
return {
    model_type = "gemma2",
    vocab_size = 256000, hidden_size = 2304, intermediate_size = 9216,
    num_hidden_layers = 26, num_attention_heads = 8, num_key_value_heads = 4,
    head_dim = 256, query_pre_attn_scalar = 256, rms_norm_eps = 1e-6, rope_theta = 10000,
    sliding_window = 4096, attn_logit_softcapping = 50, final_logit_softcapping = 30,
    tie_word_embeddings = true,
}
