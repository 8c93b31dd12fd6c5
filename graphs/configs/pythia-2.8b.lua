-- Pythia, 2.8B: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50304, hidden_size = 2560, intermediate_size = 10240,
    num_hidden_layers = 32, num_attention_heads = 32, rotary_pct = 0.25,
}
