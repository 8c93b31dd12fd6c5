-- BERT base, uncased: for graphs/bert.lua.
return {
    model_type = "bert",
    vocab_size = 30522, max_position_embeddings = 512, type_vocab_size = 2,
    hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
}
