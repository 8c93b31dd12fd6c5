-- Phi-1.5 (and Phi-1): for graphs/phi.lua.
return {
    model_type = "phi",
    vocab_size = 51200, hidden_size = 2048, intermediate_size = 8192,
    num_hidden_layers = 24, num_attention_heads = 32, partial_rotary_factor = 0.5,
}
