-- Pythia, 70M: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50304, hidden_size = 512, intermediate_size = 2048,
    num_hidden_layers = 6, num_attention_heads = 8, rotary_pct = 0.25,
}
