-- Phi-2: for graphs/phi.lua.
return {
    model_type = "phi",
    vocab_size = 51200, hidden_size = 2560, intermediate_size = 10240,
    num_hidden_layers = 32, num_attention_heads = 32, partial_rotary_factor = 0.4,
}
