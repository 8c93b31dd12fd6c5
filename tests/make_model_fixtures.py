#!/usr/bin/env python3
"""Writes tests/fixtures/model_*: tiny random models of Hugging Face's transformers, what they compute,
and its gradients.

    python3 tests/make_model_fixtures.py [CASE...]

Each case is a folder as make_fixtures.py describes it, with
    config.json         as save_pretrained writes it or, for one case, as older versions did
    model.safetensors   as save_pretrained writes it
    grads.safetensors   dL/d of every parameter, under the same names, and of a float input; L is
                        the sum of the first output times c.npy, and of the others
    taps.safetensors    of one case: what norms, attentions and feed-forwards give, in float32

Outputs and gradients are computed in float64 throughout: where transformers asks for float32 it gets
float64.  Embeddings give gradients to the row of padding, too, which PyTorch's do not.  Needs torch,
transformers and numpy.  The same bytes come out at every run on one version of them.
"""
import contextlib
import json
import os
import shutil
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file
from transformers.utils import logging

from jina_bert import JinaBertModel
from make_fixtures import HERE, randomise, round_up, write_safetensors

logging.set_verbosity_error()
logging.disable_progress_bar()

CAUSAL = dict(vocab_size=37, num_hidden_layers=2)
ENCODER = dict(vocab_size=31, hidden_size=12, intermediate_size=20, num_attention_heads=3,
               num_hidden_layers=2, pad_token_id=0)
SQUEEZE = dict(vocab_size=19, hidden_size=12, embedding_size=12, intermediate_size=20, num_hidden_layers=2,
               num_attention_heads=3, q_groups=2, k_groups=4, v_groups=2, post_attention_groups=1, intermediate_groups=4,
               output_groups=2, max_position_embeddings=12)
MOBILE = dict(vocab_size=19, hidden_size=12, intermediate_size=10, num_hidden_layers=2, num_attention_heads=2, embedding_size=7,
              intra_bottleneck_size=8, num_feedforward_networks=3, max_position_embeddings=12)
DEBERTA = dict(ENCODER, max_position_embeddings=10, relative_attention=True, position_buckets=6,
               norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False)
T5 = dict(vocab_size=31, d_model=12, d_ff=20, num_layers=2, num_heads=3, d_kv=6, pad_token_id=0)
BERT = dict(vocab_size=19, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3,
            max_position_embeddings=12)
DISTILBERT = dict(vocab_size=19, dim=12, hidden_dim=20, n_layers=2, n_heads=3, max_position_embeddings=12)
TOWER = dict(hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3,
             max_position_embeddings=4)
IMAGES = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2, image_size=8,
              patch_size=4)
ENDS = dict(bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)

# name: model class, config class, its arguments, options of the script.
CASES = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config",
             dict(vocab_size=31, n_positions=20, n_embd=21, n_layer=2, n_head=3), dict(B=2, T=9)),
    "gpt2_untied": ("GPT2LMHeadModel", "GPT2Config",
                    dict(vocab_size=31, n_positions=9, n_embd=20, n_layer=1, n_head=2, n_inner=30,
                         activation_function="relu", tie_word_embeddings=False,
                         layer_norm_epsilon=1e-3), dict(B=1, T=9)),
    "llama": ("LlamaForCausalLM", "LlamaConfig",
              dict(CAUSAL, hidden_size=24, intermediate_size=40, num_attention_heads=6,
                   num_key_value_heads=2), dict(B=2, T=13)),
    # Llama 3's frequencies, one head of keys and values for all, its own head size, all biases.
    "llama3": ("LlamaForCausalLM", "LlamaConfig",
               dict(CAUSAL, hidden_size=20, intermediate_size=33, num_attention_heads=5,
                    num_key_value_heads=1, head_dim=8, attention_bias=True, mlp_bias=True,
                    tie_word_embeddings=True, rms_norm_eps=1e-3,
                    rope_parameters=dict(rope_theta=500.0, rope_type="llama3", factor=8.0,
                                         low_freq_factor=1.0, high_freq_factor=4.0,
                                         original_max_position_embeddings=40)), dict(B=1, T=17)),
    # Rotary positions for more tokens than the model was trained with.
    "llama_yarn": ("LlamaForCausalLM", "LlamaConfig",
                   dict(CAUSAL, hidden_size=32, intermediate_size=40, num_attention_heads=2,
                        num_key_value_heads=1, max_position_embeddings=160,
                        rope_parameters=dict(rope_theta=50.0, rope_type="yarn", factor=4.0, beta_fast=8.0,
                                             original_max_position_embeddings=40)), dict(B=1, T=17)),
    "qwen3_yarn": ("Qwen3ForCausalLM", "Qwen3Config",
                   dict(CAUSAL, hidden_size=24, intermediate_size=36, num_attention_heads=3,
                        num_key_value_heads=3, head_dim=12, max_position_embeddings=64,
                        rope_parameters=dict(rope_theta=100.0, rope_type="yarn", factor=2.0,
                                             mscale=0.7, mscale_all_dim=1.4, truncate=False,
                                             beta_slow=0.5, beta_fast=4.0,
                                             original_max_position_embeddings=32)), dict(B=2, T=9)),
    "llama_longrope": ("LlamaForCausalLM", "LlamaConfig",
                       dict(CAUSAL, hidden_size=16, intermediate_size=24, num_attention_heads=2,
                            num_key_value_heads=2, max_position_embeddings=32,
                            rope_parameters=dict(rope_theta=100.0, rope_type="longrope", factor=4.0,
                                                 short_factor=[1.0, 1.1, 1.2, 1.3],
                                                 long_factor=[1.0, 1.5, 2.25, 4.5],
                                                 original_max_position_embeddings=8)),
                       dict(B=1, T=13)),
    "llama_dynamic": ("LlamaForCausalLM", "LlamaConfig",
                      dict(CAUSAL, hidden_size=16, intermediate_size=24, num_attention_heads=2,
                           num_key_value_heads=1, max_position_embeddings=8,
                           rope_parameters=dict(rope_theta=100.0, rope_type="dynamic", factor=3.0)),
                      dict(B=2, T=13)),
    "mistral": ("MistralForCausalLM", "MistralConfig",
                dict(CAUSAL, hidden_size=24, intermediate_size=36, num_attention_heads=3,
                     num_key_value_heads=1, head_dim=8, sliding_window=4), dict(B=2, T=11)),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config",
              dict(CAUSAL, hidden_size=20, intermediate_size=36, num_attention_heads=5,
                   num_key_value_heads=1, tie_word_embeddings=True, use_sliding_window=True,
                   sliding_window=3, max_window_layers=1), dict(B=2, T=10)),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config",
              dict(CAUSAL, hidden_size=18, intermediate_size=36, num_attention_heads=6,
                   num_key_value_heads=3, head_dim=6), dict(B=2, T=12)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config",
               dict(CAUSAL, hidden_size=21, intermediate_size=36, num_attention_heads=3,
                    num_key_value_heads=1, head_dim=8, query_pre_attn_scalar=6, sliding_window=4,
                    attn_logit_softcapping=2.0, final_logit_softcapping=3.0, pad_token_id=None),
               dict(B=2, T=11)),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig",
                 dict(CAUSAL, hidden_size=24, intermediate_size=40, num_attention_heads=3),
                 dict(B=2, T=10)),
    "gpt_neox_serial": ("GPTNeoXForCausalLM", "GPTNeoXConfig",
                        dict(CAUSAL, hidden_size=16, intermediate_size=24, num_attention_heads=1,
                             use_parallel_residual=False,
                             rope_parameters=dict(rope_theta=100.0, rope_type="linear", factor=2.0,
                                                  partial_rotary_factor=0.5)), dict(B=1, T=15)),
    "phi": ("PhiForCausalLM", "PhiConfig",
            dict(CAUSAL, hidden_size=24, intermediate_size=40, num_attention_heads=3,
                 num_key_value_heads=1, qk_layernorm=True), dict(B=2, T=9)),
    # Families of docs/add-a-family.md.
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config",
              dict(CAUSAL, hidden_size=24, intermediate_size=36, num_attention_heads=3,
                   num_key_value_heads=1), dict(B=2, T=10)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig",
               dict(CAUSAL, hidden_size=21, intermediate_size=28, num_attention_heads=3,
                    num_key_value_heads=1, head_dim=8, query_pre_attn_scalar=6, sliding_window=4,
                    layer_types=["sliding_attention", "full_attention"], pad_token_id=None,
                    rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0,
                                                             rope_theta=1000.0),
                                         sliding_attention=dict(rope_type="default",
                                                                rope_theta=100.0))),
               dict(B=2, T=11)),
    "megatron_bert": ("MegatronBertModel", "MegatronBertConfig", dict(BERT, type_vocab_size=2),
                      dict(B=3, T=8, padding=True)),
    "megatron_bert_words": ("MegatronBertForMaskedLM", "MegatronBertConfig",
                            dict(BERT, type_vocab_size=2, hidden_act="relu"),
                            dict(B=2, T=6, masked_lm=True, name_prefix="bert.")),
    "megatron_bert_classes": ("MegatronBertForSequenceClassification", "MegatronBertConfig",
                              dict(BERT, type_vocab_size=2, num_labels=3),
                              dict(T=9, classes=3, name_prefix="bert.")),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig",
                dict(CAUSAL, hidden_size=16, intermediate_size=20, num_attention_heads=2,
                     num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2,
                     experts_implementation="eager"),
                dict(B=2, T=9)),
    "bert": ("BertModel", "BertConfig",
             dict(vocab_size=31, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                  num_attention_heads=3, max_position_embeddings=14, pad_token_id=None),
             dict(B=3, T=11, padding=True)),
    "bert_classes": ("BertForSequenceClassification", "BertConfig",
                     dict(BERT, num_labels=3, hidden_act="relu", layer_norm_eps=1e-3),
                     dict(B=2, T=7, padding=True, classes=3, name_prefix="bert.")),
    "bert_tokens": ("BertForTokenClassification", "BertConfig",
                    dict(BERT, num_labels=5, hidden_act="gelu_new", type_vocab_size=1),
                    dict(B=1, T=12, token_classes=5, name_prefix="bert.")),
    "bert_words": ("BertForMaskedLM", "BertConfig", dict(BERT, hidden_act="silu"),
                   dict(B=2, T=6, masked_lm=True, name_prefix="bert.")),
    "bert_words_untied": ("BertForMaskedLM", "BertConfig", dict(BERT, tie_word_embeddings=False),
                          dict(B=1, T=9, masked_lm=True, name_prefix="bert.")),
    "distilbert": ("DistilBertModel", "DistilBertConfig", DISTILBERT, dict(B=2, T=9, padding=True)),
    "distilbert_classes": ("DistilBertForSequenceClassification", "DistilBertConfig",
                           dict(DISTILBERT, num_labels=2, activation="relu"),
                           dict(B=2, T=8, classes=2, name_prefix="distilbert.")),
    "distilbert_words": ("DistilBertForMaskedLM", "DistilBertConfig", DISTILBERT,
                         dict(B=2, T=5, masked_lm=True, name_prefix="distilbert.")),
    # Ids of padding stand amid the texts.
    "roberta": ("RobertaModel", "RobertaConfig", dict(BERT, type_vocab_size=2, pad_token_id=3),
                dict(B=3, T=8, padding=True)),
    "roberta_words": ("RobertaForMaskedLM", "RobertaConfig", dict(BERT, type_vocab_size=1, hidden_act="relu"),
                      dict(B=2, T=10, masked_lm=True, name_prefix="roberta.")),
    "xlm_roberta_classes": ("XLMRobertaForSequenceClassification", "XLMRobertaConfig",
                            dict(BERT, type_vocab_size=1, num_labels=1),
                            dict(B=2, T=7, classes=1, name_prefix="roberta.")),
    "electra": ("ElectraModel", "ElectraConfig", dict(BERT, embedding_size=7), dict(B=2, T=9, padding=True)),
    "electra_classes": ("ElectraForSequenceClassification", "ElectraConfig",
                        dict(BERT, embedding_size=12, num_labels=4, hidden_act="relu"),
                        dict(B=2, T=6, classes=4, name_prefix="electra.")),
    "electra_discriminator": ("ElectraForPreTraining", "ElectraConfig", dict(BERT, embedding_size=7),
                              dict(B=2, T=5, discriminator=True, name_prefix="electra.")),
    "electra_words": ("ElectraForMaskedLM", "ElectraConfig", dict(BERT, embedding_size=16, hidden_act="relu"),
                      dict(B=2, T=5, masked_lm=True, name_prefix="electra.")),
    # Distances of which several share a bucket.
    "mpnet": ("MPNetModel", "MPNetConfig", dict(BERT, max_position_embeddings=44), dict(B=2, T=40)),
    "mpnet_classes": ("MPNetForSequenceClassification", "MPNetConfig", dict(BERT, num_labels=2),
                      dict(B=3, T=10, padding=True, classes=2, name_prefix="mpnet.")),
    # Three layers of which the first two share weights, and each is two.
    "albert": ("AlbertModel", "AlbertConfig",
               dict(BERT, embedding_size=7, num_hidden_layers=3, num_hidden_groups=2, inner_group_num=2),
               dict(B=2, T=9, padding=True)),
    "albert_words": ("AlbertForMaskedLM", "AlbertConfig", dict(BERT, embedding_size=5, hidden_act="relu"),
                     dict(B=2, T=6, masked_lm=True, name_prefix="albert.")),
    # Encoders of texts.  The window of two layers is shorter than the texts.
    "modernbert": ("ModernBertModel", "ModernBertConfig",
                   dict(ENCODER, **ENDS, num_hidden_layers=4, local_attention=6),
                   dict(B=2, T=11, padding=True, name_prefix="")),
    "modernbert_classifier": ("ModernBertForSequenceClassification", "ModernBertConfig",
                              dict(ENCODER, **ENDS, num_labels=3, num_hidden_layers=3, local_attention=4,
                                   attention_bias=True, mlp_bias=True, norm_bias=True, norm_eps=1e-3,
                                   classifier_pooling="mean", classifier_bias=True),
                              dict(T=12, classes=3)),
    "modernbert_words": ("ModernBertForMaskedLM", "ModernBertConfig",
                         dict(ENCODER, **ENDS, tie_word_embeddings=False, hidden_activation="mish"),
                         dict(B=1, T=7, masked_lm=True)),
    "nomic_bert": ("NomicBertModel", "NomicBertConfig", dict(ENCODER, hidden_act="silu"),
                   dict(B=2, T=9, padding=True)),
    "nomic_bert_classes": ("NomicBertForSequenceClassification", "NomicBertConfig",
                           dict(ENCODER, hidden_act="gelu", num_labels=3, num_hidden_layers=1),
                           dict(T=9, classes=3, name_prefix="nomic_bert.")),
    "nomic_bert_words": ("NomicBertForMaskedLM", "NomicBertConfig", dict(ENCODER, num_hidden_layers=1),
                         dict(B=1, T=7, masked_lm=True, name_prefix="nomic_bert.")),
    "eurobert_classes": ("EuroBertForSequenceClassification", "EuroBertConfig",
                         dict(ENCODER, num_labels=3, num_key_value_heads=1, head_dim=6), dict(T=9, classes=3)),
    "eurobert_words": ("EuroBertForMaskedLM", "EuroBertConfig",
                       dict(ENCODER, num_key_value_heads=1, attention_bias=True, mlp_bias=True),
                       dict(B=2, T=8, masked_lm=True, padding=True)),
    "eurobert_words_tied": ("EuroBertForMaskedLM", "EuroBertConfig",
                            dict(ENCODER, num_hidden_layers=1, mlp_bias=True, tie_word_embeddings=True, hidden_act="relu2"),
                            dict(B=1, T=7, masked_lm=True)),
    # GTE's scaling of rotary positions, as a linear one.
    "gte": ("GteModel", "GteConfig",
            dict(ENCODER, type_vocab_size=0,
                 rope_parameters=dict(rope_type="linear", rope_theta=2 * 500.0, factor=2 ** (2 / 4))),
            dict(B=2, T=9, padding=True)),
    "gte_classes": ("GteForSequenceClassification", "GteConfig",
                    dict(ENCODER, num_labels=3, num_hidden_layers=1, type_vocab_size=2),
                    dict(T=9, classes=3, name_prefix="gte.")),
    "gte_words": ("GteForMaskedLM", "GteConfig",
                  dict(ENCODER, num_hidden_layers=1, type_vocab_size=1, hidden_act="silu"),
                  dict(B=2, T=5, masked_lm=True, name_prefix="gte.")),
    # Distances beyond those that have a bucket of their own, and beyond the largest.
    "t5": ("T5EncoderModel", "T5Config",
           dict(T5, relative_attention_num_buckets=12, relative_attention_max_distance=8),
           dict(B=2, T=13, padding=True)),
    "t5_tokens": ("T5ForTokenClassification", "T5Config",
                  dict(T5, num_labels=3, feed_forward_proj="gated-gelu", relative_attention_num_buckets=8),
                  dict(B=1, T=11, token_classes=3, name_prefix="transformer.")),
    # Texts with distances in buckets of several, and beyond the largest.
    "deberta_v2": ("DebertaV2Model", "DebertaV2Config", dict(DEBERTA, conv_kernel_size=3, conv_act="gelu"),
                   dict(B=2, T=13)),
    "deberta_v2_classes": ("DebertaV2ForSequenceClassification", "DebertaV2Config", dict(DEBERTA, num_labels=3),
                           dict(T=13, classes=3, name_prefix="deberta.")),
    "deberta_v2_words": ("DebertaV2ForMaskedLM", "DebertaV2Config",
                         dict(DEBERTA, num_hidden_layers=1, share_att_key=False, position_buckets=-1,
                              max_relative_positions=4, embedding_size=7, position_biased_input=True,
                              type_vocab_size=2, max_position_embeddings=12),
                         dict(B=1, T=9, masked_lm=True, name_prefix="deberta.")),
    "ernie": ("ErnieModel", "ErnieConfig", dict(BERT, use_task_id=True, task_type_vocab_size=4),
              dict(B=2, T=9, padding=True)),
    "ernie_classes": ("ErnieForSequenceClassification", "ErnieConfig", dict(BERT, num_labels=3, hidden_act="relu"),
                      dict(T=8, classes=3, name_prefix="ernie.")),
    # Token 4 stands for the masked ones.
    "esm": ("EsmModel", "EsmConfig",
            dict(BERT, position_embedding_type="rotary", token_dropout=True, mask_token_id=4, pad_token_id=1),
            dict(B=2, T=11, padding=True)),
    "esm_classes": ("EsmForSequenceClassification", "EsmConfig",
                    dict(BERT, emb_layer_norm_before=True, mask_token_id=4, pad_token_id=1, num_labels=3),
                    dict(T=9, classes=3, name_prefix="esm.")),
    "esm_words": ("EsmForMaskedLM", "EsmConfig",
                  dict(BERT, position_embedding_type="rotary", token_dropout=True, mask_token_id=4, pad_token_id=1),
                  dict(B=2, T=7, masked_lm=True, name_prefix="esm.")),
    "jina_bert": ("JinaBertModel", "BertConfig",
                  dict(BERT, position_embedding_type="alibi", feed_forward_type="geglu"),
                  dict(B=2, T=15, padding=True)),
    "jina_bert_relu": ("JinaBertModel", "BertConfig",
                       dict(BERT, num_hidden_layers=1, num_attention_heads=6, position_embedding_type="alibi",
                            feed_forward_type="reglu"), dict(B=1, T=9)),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", SQUEEZE, dict(B=2, T=9, padding=True)),
    "squeezebert_classes": ("SqueezeBertForSequenceClassification", "SqueezeBertConfig",
                            dict(SQUEEZE, num_labels=3, q_groups=1, output_groups=1, hidden_act="relu"),
                            dict(T=8, classes=3, name_prefix="transformer.")),
    "squeezebert_words": ("SqueezeBertForMaskedLM", "SqueezeBertConfig", dict(SQUEEZE, num_hidden_layers=1),
                          dict(B=2, T=6, masked_lm=True, name_prefix="transformer.")),
    "mobilebert": ("MobileBertModel", "MobileBertConfig", MOBILE, dict(B=2, T=9, padding=True)),
    "mobilebert_classes": ("MobileBertForSequenceClassification", "MobileBertConfig",
                           dict(MOBILE, num_labels=3, normalization_type="layer_norm", use_bottleneck_attention=True,
                                classifier_activation=False, num_feedforward_networks=1),
                           dict(T=8, classes=3, name_prefix="mobilebert.")),
    "mobilebert_words": ("MobileBertForMaskedLM", "MobileBertConfig", dict(MOBILE, num_hidden_layers=1, trigram_input=False),
                         dict(B=2, T=6, masked_lm=True, name_prefix="mobilebert.")),
    "rembert": ("RemBertModel", "RemBertConfig", dict(BERT, input_embedding_size=7, output_embedding_size=9),
                dict(B=2, T=9, padding=True)),
    "rembert_words": ("RemBertForMaskedLM", "RemBertConfig",
                      dict(BERT, input_embedding_size=5, output_embedding_size=9, hidden_act="relu"),
                      dict(B=2, T=6, masked_lm=True, name_prefix="rembert.")),
    "roberta_prelayernorm": ("RobertaPreLayerNormModel", "RobertaPreLayerNormConfig",
                             dict(BERT, type_vocab_size=2, pad_token_id=3), dict(B=3, T=8, padding=True)),
    "roberta_prelayernorm_classes": ("RobertaPreLayerNormForSequenceClassification", "RobertaPreLayerNormConfig",
                                     dict(BERT, type_vocab_size=1, pad_token_id=1, num_labels=3),
                                     dict(T=8, classes=3, name_prefix="roberta_prelayernorm.")),
    "roformer": ("RoFormerModel", "RoFormerConfig", dict(BERT, embedding_size=7), dict(B=2, T=9, padding=True)),
    "roformer_classes": ("RoFormerForSequenceClassification", "RoFormerConfig", dict(BERT, num_labels=3),
                         dict(T=8, classes=3, name_prefix="roformer.")),
    "roformer_words": ("RoFormerForMaskedLM", "RoFormerConfig", dict(BERT, embedding_size=7),
                       dict(B=2, T=6, masked_lm=True, name_prefix="roformer.")),
    # Two towers in one file; an image that is no whole number of patches.
    "clip_text": ("CLIPModel", "CLIPConfig",
                  dict(projection_dim=7, text_config=dict(TOWER, vocab_size=19, max_position_embeddings=12,
                                                          eos_token_id=5), vision_config=IMAGES),
                  dict(B=3, T=11, tower="text")),
    "clip_vision": ("CLIPModel", "CLIPConfig",
                    dict(projection_dim=7, text_config=dict(TOWER, vocab_size=5, eos_token_id=2),
                         vision_config=dict(IMAGES, image_size=13)), dict(B=2, tower="vision")),
    "siglip_text": ("SiglipModel", "SiglipConfig",
                    dict(text_config=dict(TOWER, vocab_size=19, max_position_embeddings=9, projection_size=8),
                         vision_config=IMAGES), dict(B=2, T=9, tower="text")),
    "siglip_vision": ("SiglipModel", "SiglipConfig",
                      dict(text_config=dict(TOWER, vocab_size=5), vision_config=IMAGES),
                      dict(B=2, tower="vision")),
    "vit": ("ViTModel", "ViTConfig",
            dict(image_size=12, patch_size=4, num_channels=3, hidden_size=24, intermediate_size=40,
                 num_hidden_layers=2, num_attention_heads=3, pooler_output_size=10), dict(B=2)),
}


@contextlib.contextmanager
def everything_in_float64():
    """Models are made and run in float64 even where they ask for float32."""
    names = ("float", "float32")
    old, to_float = [getattr(torch, name) for name in names], torch.Tensor.float
    default = torch.get_default_dtype()
    for name in names:
        setattr(torch, name, torch.float64)
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(default)
    torch.Tensor.float = to_float
    for name, value in zip(names, old):
        setattr(torch, name, value)


def make_model(name):
    model, config, arguments, _ = CASES[name]
    config = getattr(transformers, config)(**arguments, attn_implementation="eager")
    model = (JinaBertModel if model == "JinaBertModel" else getattr(transformers, model))(config).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return model


def is_pooled(name):
    """True if one vector is made of a text of up to T tokens; such a model has no gradients."""
    options = CASES[name][3]
    return "classes" in options and "padding" not in options and options.get("B", 1) == 1


def has_types(config):
    """True if the script has an input for segments."""
    return getattr(config, "type_vocab_size", 0) > (1 if script_of(config).startswith("roberta") else 0)


def script_of(config):
    return {"xlm-roberta": "roberta"}.get(config.model_type, config.model_type).replace("-", "_")


def make_inputs(name, config, rng):
    """By the names of transformers, and the files that hold them."""
    options = CASES[name][3]
    if "tower" in options:
        config = getattr(config, options["tower"] + "_config")
    if hasattr(config, "image_size"):
        shape = options["B"], config.num_channels, config.image_size, config.image_size
        return {"pixel_values": rng.standard_normal(shape).astype(np.float32)}
    shape = options.get("B", 1), options["T"] - 2 * is_pooled(name)
    inputs = {"input_ids": rng.randint(0, config.vocab_size, shape)}
    if has_types(config):
        inputs["token_type_ids"] = rng.randint(0, config.type_vocab_size, shape)
    if "padding" in options:
        lengths = options["T"] - 3 * np.arange(options["B"])
        inputs["attention_mask"] = (np.arange(options["T"]) < lengths[:, None]).astype(np.int64)
    return inputs


def run(model, tensors, tower):
    """The outputs by the names that the script has; `tower` is one of two, or None."""
    if not tower:
        return model(**tensors)
    features = model.get_text_features if tower == "text" else model.get_image_features
    result = getattr(model, tower + "_model")(**tensors)
    features = features(**tensors).pooler_output
    if model.config.model_type == "clip":
        result["text_features" if tower == "text" else "image_features"] = features
    return result


def evaluate(model, inputs, c, dtype, tower=None):
    """The outputs and, if there is a cotangent, the gradients of parameters and float inputs."""
    tensors = {key: torch.from_numpy(value) for key, value in inputs.items()}
    for key, value in tensors.items():
        if value.is_floating_point():
            tensors[key] = value.to(dtype).requires_grad_()
    result = run(model, tensors, tower)
    names = ["logits", "text_features", "image_features", "last_hidden_state", "pooler_output"]
    names = [key for key in names if result.get(key) is not None][:1 if "logits" in result else None]
    outputs = {key: result[key] for key in names}
    loss = (outputs[names[0]] * torch.from_numpy(c(outputs[names[0]].shape)).to(dtype)).sum()
    loss = loss + sum(outputs[key].sum() for key in names[1:])
    model.zero_grad()
    loss.backward()
    grads = {key: value.grad.double().numpy() for key, value in tensors.items()
             if value.is_floating_point()}
    for key, p in model.named_parameters():
        if p.grad is not None:  # a head that is not tied leaves one of two biases unused
            grads[key] = p.grad.double().numpy().copy()
    return {key: value.detach().double().numpy() for key, value in outputs.items()}, grads


def is_tapped(key):
    return key.endswith(("norm", "self_attn", "mlp"))


def keep_in(taps, key):
    def hook(module, inputs, output):
        y = output[0] if isinstance(output, tuple) else output
        taps[key] = y.detach().numpy().copy()
    return hook


def plain(tensors):
    """By the names of published files: save_pretrained writes gamma and beta for norms of ESM."""
    return {key.replace(".gamma", ".weight").replace(".beta", ".bias"): value for key, value in tensors.items()}


def saved_tensors(model, folder):
    """What save_pretrained writes, by the names that it writes."""
    with tempfile.TemporaryDirectory() as T:
        model.save_pretrained(T)
        for file in "config.json", "model.safetensors":
            shutil.copyfile(os.path.join(T, file), os.path.join(folder, file))
        return plain(load_file(os.path.join(T, "model.safetensors")))


def write_config(folder, name):
    """Without what depends on the version; of llama3 and gte as they are published."""
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        config = json.load(f)
    del config["transformers_version"]
    if name == "llama3":
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = rope
    if name == "gte":
        del config["rope_parameters"]
        config.update(model_type="new", rope_theta=500.0, rope_scaling=dict(type="ntk", factor=2.0))
    with open(path, "w") as f:
        json.dump(config, f, indent=2, sort_keys=True)
        f.write("\n")


def write_gradients(folder, model, gradients, inputs):
    """Under the names that save_pretrained writes."""
    unused = {key for key, p in model.named_parameters()} - set(gradients)
    for key, p in model.named_parameters():
        if key in gradients:
            p.data = torch.from_numpy(gradients[key].astype(np.float32))
    with tempfile.TemporaryDirectory() as T:
        model.save_pretrained(T)
        grads = plain(load_file(os.path.join(T, "model.safetensors")))
    grads = {key: value for key, value in grads.items() if key not in unused}
    for key, value in inputs.items():
        if value.dtype == np.float32:
            grads[key] = np.ascontiguousarray(gradients[key].astype(np.float32))
    write_safetensors(os.path.join(folder, "grads.safetensors"), dict(sorted(grads.items())))


FILES = {"input_ids": "ids"}


def make_case(name):
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    _, _, _, options = CASES[name]
    folder = os.path.join(HERE, "fixtures", "model_" + name)
    os.makedirs(folder, exist_ok=True)

    model = make_model(name)
    randomise(model, rng)
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.weight.data *= 4
        if hasattr(module, "create_weight"):  # a table of sines
            module.weight.data = module.create_weight()
    if name in ("gemma2", "gemma3"):  # its norms' weights are gamma - 1
        for key, p in model.named_parameters():
            if p.dim() == 1:
                p.data -= 1
    state = {key: value.clone() for key, value in model.state_dict().items()}
    inputs = make_inputs(name, model.config, rng)
    cotangent = {}

    def c(shape):
        if "c" not in cotangent:
            cotangent["c"] = (2 * rng.standard_normal(tuple(shape)) + 0.5).astype(np.float32)
        return cotangent["c"]

    taps = {}
    hooks = [module.register_forward_hook(keep_in(taps, key))
             for key, module in model.named_modules() if name == "llama" and is_tapped(key)]
    low, low_grads = evaluate(model, inputs, c, torch.float32, options.get("tower"))
    for hook in hooks:
        hook.remove()
    if taps:
        write_safetensors(os.path.join(folder, "taps.safetensors"), dict(sorted(taps.items())))
    with everything_in_float64():
        exact = make_model(name)
        exact.load_state_dict({key: value.double() for key, value in state.items()})
        high, high_grads = evaluate(exact, inputs, c, torch.float64, options.get("tower"))

    tensors = saved_tensors(model, folder)
    write_safetensors(os.path.join(folder, "model.safetensors"), dict(sorted(tensors.items())))
    write_config(folder, name)
    if is_pooled(name):
        high = {key: value.reshape(-1) for key, value in high.items()}
    else:
        write_gradients(folder, model, high_grads, inputs)
        np.save(os.path.join(folder, "c.npy"), cotangent["c"])

    for key, value in inputs.items():
        np.save(os.path.join(folder, FILES.get(key, key) + ".npy"),
                value if value.dtype == np.float32 else value.astype(np.int32))
    for key, value in high.items():
        np.save(os.path.join(folder, key + ".npy"), value)
    error = max(np.abs(low[key].reshape(high[key].shape) - high[key]).max() for key in high)
    grad_error = max(np.abs(low_grads[key] - high_grads[key]).max() for key in high_grads)
    with open(os.path.join(folder, "case.txt"), "w") as f:
        script = "graphs/%s.lua" % script_of(model.config)
        if not os.path.exists(os.path.join(HERE, "..", script)):
            script = "docs/families/%s.lua" % model.config.model_type
        f.write("script %s\nconfig config.json\n" % script)
        for key, value in options.items():
            f.write("set %s=%s\n" % (key, str(value).lower()))
        for key in inputs:
            f.write("input %s\n" % FILES.get(key, key))
        for key in high:
            f.write("expect %s\n" % key)
        if not is_pooled(name):
            f.write("cotangent %s\n" % next(iter(high)))
        f.write("atol %s\n" % round_up(max(5e-6, 5 * error)))
        if not is_pooled(name):
            f.write("grad_atol %s\n" % round_up(max(2e-5, 5 * grad_error)))
    count = sum(value.size for value in tensors.values())
    print("%-16s %6d parameters, |y| up to %8.3f, PyTorch's float32 is off by %.1e, in gradients by %.1e"
          % (name, count, np.abs(next(iter(high.values()))).max(), error, grad_error))


def main(names):
    for name in names or CASES:
        if name not in CASES:
            sys.exit("%s is no case, expected one of: %s" % (name, " ".join(CASES)))
        make_case(name)


if __name__ == "__main__":
    main(sys.argv[1:])
