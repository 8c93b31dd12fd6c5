-- Pythia, 1B: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50304, hidden_size = 2048, intermediate_size = 8192,
    num_hidden_layers = 16, num_attention_heads = 8, rotary_pct = 0.25,
}
