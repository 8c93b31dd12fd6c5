-- GPT-2 medium: for graphs/gpt2.lua.
return {
    model_type = "gpt2",
    vocab_size = 50257, n_positions = 1024, n_embd = 1024, n_layer = 24, n_head = 16,
}
