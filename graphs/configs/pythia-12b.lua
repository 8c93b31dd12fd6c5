-- Pythia, 12B: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50688, hidden_size = 5120, intermediate_size = 20480,
    num_hidden_layers = 36, num_attention_heads = 40, rotary_pct = 0.25,
}
