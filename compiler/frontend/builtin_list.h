/* builtin_list.h - the modules of graphs/lib and the models of graphs/ that the program
 * contains. */
#ifndef CR_BUILTIN_LIST_H
#define CR_BUILTIN_LIST_H

/* FILE(folder, part of a C name, module), with the folder's path from the project's root */
#define CR_SCRIPT_MODULES(FILE)                                                                    \
    FILE("graphs/lib/", lib, nn)                                                                   \
    FILE("graphs/lib/", lib, attention)                                                            \
    FILE("graphs/lib/", lib, clip)                                                                 \
    FILE("graphs/lib/", lib, embedding)                                                            \
    FILE("graphs/lib/", lib, encoder)                                                              \
    FILE("graphs/lib/", lib, masks)                                                                \
    FILE("graphs/lib/", lib, rotary)                                                               \
    FILE("graphs/lib/", lib, transformer)                                                          \
    FILE("graphs/lib/", lib, gpt2)                                                                 \
    FILE("graphs/lib/", lib, llama)                                                                \
    FILE("graphs/lib/", lib, huggingface)                                                          \
    FILE("graphs/lib/", lib, optim)                                                                \
    FILE("graphs/lib/", lib, recurrent)                                                            \
    FILE("graphs/lib/", lib, onnx)                                                                 \
    FILE("graphs/lib/", lib, onnx_attention)                                                       \
    FILE("graphs/lib/", lib, onnx_conv)                                                            \
    FILE("graphs/lib/", lib, onnx_index)                                                           \
    FILE("graphs/lib/", lib, onnx_math)                                                            \
    FILE("graphs/lib/", lib, onnx_norm)                                                            \
    FILE("graphs/lib/", lib, onnx_pictures)                                                        \
    FILE("graphs/lib/", lib, onnx_recurrent)                                                       \
    FILE("graphs/lib/", lib, onnx_signal)                                                          \
    FILE("graphs/lib/", lib, onnx_tools)

/* Modules with functions that import calls and then inlines; see inline_tools.lua. */
#define CR_INLINE_MODULES(FILE)                                                                    \
    FILE("graphs/lib/", lib, inline_tools)                                                         \
    FILE("graphs/lib/", lib, inline_index)                                                         \
    FILE("graphs/lib/", lib, inline_known)                                                         \
    FILE("graphs/lib/", lib, inline_layers)                                                        \
    FILE("graphs/lib/", lib, inline_math)                                                          \
    FILE("graphs/lib/", lib, inline_norm)                                                          \
    FILE("graphs/lib/", lib, inline_quant)                                                         \
    FILE("graphs/lib/", lib, inline_shape)

#define CR_BUILTIN_MODULES(FILE) CR_SCRIPT_MODULES(FILE) CR_INLINE_MODULES(FILE)

#define CR_BUILTIN_MODELS(FILE)                                                                    \
    FILE("graphs/", model, albert)                                                                 \
    FILE("graphs/", model, bert)                                                                   \
    FILE("graphs/", model, clip)                                                                   \
    FILE("graphs/", model, clip_text_model)                                                        \
    FILE("graphs/", model, clip_vision_model)                                                      \
    FILE("graphs/", model, deberta_v2)                                                             \
    FILE("graphs/", model, distilbert)                                                             \
    FILE("graphs/", model, electra)                                                                \
    FILE("graphs/", model, ernie)                                                                  \
    FILE("graphs/", model, esm)                                                                    \
    FILE("graphs/", model, eurobert)                                                               \
    FILE("graphs/", model, gemma2)                                                                 \
    FILE("graphs/", model, gemma3_text)                                                            \
    FILE("graphs/", model, gpt2)                                                                   \
    FILE("graphs/", model, gpt_neox)                                                               \
    FILE("graphs/", model, gte)                                                                    \
    FILE("graphs/", model, llama)                                                                  \
    FILE("graphs/", model, mistral)                                                                \
    FILE("graphs/", model, mobilebert)                                                             \
    FILE("graphs/", model, modernbert)                                                             \
    FILE("graphs/", model, mpnet)                                                                  \
    FILE("graphs/", model, nomic_bert)                                                             \
    FILE("graphs/", model, phi)                                                                    \
    FILE("graphs/", model, qwen2)                                                                  \
    FILE("graphs/", model, qwen3)                                                                  \
    FILE("graphs/", model, rembert)                                                                \
    FILE("graphs/", model, roberta)                                                                \
    FILE("graphs/", model, roberta_prelayernorm)                                                   \
    FILE("graphs/", model, roformer)                                                               \
    FILE("graphs/", model, siglip)                                                                 \
    FILE("graphs/", model, siglip_text_model)                                                      \
    FILE("graphs/", model, siglip_vision_model)                                                    \
    FILE("graphs/", model, squeezebert)                                                            \
    FILE("graphs/", model, static_embedding)                                                       \
    FILE("graphs/", model, t5)                                                                     \
    FILE("graphs/", model, vit)

/* ALIAS(model_type, model, prefix): the model's script also serves this model_type of
 * config.json; `prefix` precedes the tensor names in files of such a model with a head. */
#define CR_MODEL_ALIASES(ALIAS)                                                                    \
    ALIAS("camembert", roberta, "roberta")                                                         \
    ALIAS("data2vec-text", roberta, "data2vec_text")                                               \
    ALIAS("deberta-v2", deberta_v2, "deberta")                                                     \
    ALIAS("mt5", t5, "transformer")                                                                \
    ALIAS("new", gte, "new")                                                                       \
    ALIAS("roberta-prelayernorm", roberta_prelayernorm, "roberta_prelayernorm")                    \
    ALIAS("xlm-roberta", roberta, "roberta")

/* The name of chunk number i for Lua.  Modules have the lowest numbers, in the order of the
 * list. */
#define CR_CHUNK "=#%d"

#endif
