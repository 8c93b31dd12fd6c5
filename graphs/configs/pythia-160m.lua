-- Pythia, 160M: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50304, hidden_size = 768, intermediate_size = 3072,
    num_hidden_layers = 12, num_attention_heads = 12, rotary_pct = 0.25,
}
