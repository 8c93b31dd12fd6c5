-- GPT-2 XL: for graphs/gpt2.lua.
return {
    model_type = "gpt2",
    vocab_size = 50257, n_positions = 1024, n_embd = 1600, n_layer = 48, n_head = 25,
}
