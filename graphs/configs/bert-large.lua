-- BERT large, uncased: for graphs/bert.lua.
return {
    model_type = "bert",
    vocab_size = 30522, max_position_embeddings = 512, type_vocab_size = 2,
    hidden_size = 1024, intermediate_size = 4096, num_hidden_layers = 24, num_attention_heads = 16,
}
