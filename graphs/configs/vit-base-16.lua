-- ViT-B/16: for graphs/vit.lua.
return {
    model_type = "vit",
    image_size = 224, patch_size = 16,
    hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
}
