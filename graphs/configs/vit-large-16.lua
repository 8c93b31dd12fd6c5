-- ViT-L/16: for graphs/vit.lua.
return {
    model_type = "vit",
    image_size = 224, patch_size = 16,
    hidden_size = 1024, intermediate_size = 4096, num_hidden_layers = 24, num_attention_heads = 16,
}
