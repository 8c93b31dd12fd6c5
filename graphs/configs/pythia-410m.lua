-- Pythia, 410M: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50304, hidden_size = 1024, intermediate_size = 4096,
    num_hidden_layers = 24, num_attention_heads = 16, rotary_pct = 0.25,
}
