-- GPT-2, the small one: for graphs/gpt2.lua.
return {
    model_type = "gpt2",
    vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
}
