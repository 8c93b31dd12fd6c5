-- GPT-2 large: for graphs/gpt2.lua.
return {
    model_type = "gpt2",
    vocab_size = 50257, n_positions = 1024, n_embd = 1280, n_layer = 36, n_head = 20,
}
