-- GPT-NeoX-20B: for graphs/gpt_neox.lua.
return {
    model_type = "gpt_neox",
    vocab_size = 50432, hidden_size = 6144, intermediate_size = 24576,
    num_hidden_layers = 44, num_attention_heads = 64, rotary_pct = 0.25,
}
