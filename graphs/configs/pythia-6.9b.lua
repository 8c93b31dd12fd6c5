-- Pythia, 6.9B: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50432, hidden_size = 4096, intermediate_size = 16384,
    num_hidden_layers = 32, num_attention_heads = 32, rotary_pct = 0.25,
}
