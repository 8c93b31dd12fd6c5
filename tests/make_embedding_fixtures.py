#!/usr/bin/env python3
"""Writes tests/fixtures/embed_*: folders of sentence-transformers and of rerankers, whose encoders are tiny
random decoders of Hugging Face's transformers, and the vectors of some texts.

    python3 tests/make_embedding_fixtures.py [CASE...]

Each case is a folder as make_fixtures.py describes it, of one text of ids without a Dense, with
    config.json, model.safetensors, modules.json, ...   as their libraries write them
    tokenizer.json  one of tests/tokenizers, which puts tokens around a text
    texts.txt       texts, one a line; of a reranker the first is the question
    vectors.npy     their vectors, or the logits of the question and each other text, in float64

Needs torch, transformers, tokenizers and numpy.
"""
import json
import os
import sys
import zlib

import numpy as np
import tokenizers
import torch
import transformers

from make_fixtures import HERE, randomise, round_up, write_safetensors
from make_model_fixtures import everything_in_float64, saved_tensors, write_config

SMALL = dict(num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, hidden_size=24, head_dim=8,
             intermediate_size=36, max_position_embeddings=64, pad_token_id=None)
QUERY = "Instruct: Find what answers the question\nQuery: "

# name: model, config, its arguments, tokenizer, tokens before and after a text, pooling, sizes behind it.
CASES = {
    "qwen3": ("Qwen3Model", "Qwen3Config", dict(SMALL, vocab_size=360), "qwen2", ("", "<|endoftext|>"),
              "lasttoken", []),
    "gemma3": ("Gemma3TextModel", "Gemma3TextConfig",
               dict(SMALL, vocab_size=430, query_pre_attn_scalar=6, sliding_window=6,
                    use_bidirectional_attention=True, layer_types=["sliding_attention", "full_attention"]),
               "gemma", ("<s>", "</s>"), "mean", [40, 16]),
    "mistral": ("MistralModel", "MistralConfig", dict(SMALL, vocab_size=442, sliding_window=5), "spm_first",
                ("<s>", "</s>"), "weightedmean", []),
    # As Qwen2 embedders with code of their own: a token sees all others.
    "qwen2_both": ("Qwen2Model", "Qwen2Config", dict({k: SMALL[k] for k in SMALL if k != "head_dim"}, vocab_size=360),
                   "qwen2", ("", "<|endoftext|>"), "mean", []),
    "llama_rank": ("LlamaForSequenceClassification", "LlamaConfig",
                   dict(SMALL, vocab_size=442, num_labels=1, pad_token_id=2), "spm_first", ("<s>", "</s>"), None, []),
    "qwen3_classes": ("Qwen3ForSequenceClassification", "Qwen3Config", dict(SMALL, vocab_size=360, num_labels=3),
                      "qwen2", ("", ""), None, []),
    # As Qwen3-Reranker, with the tokens 88 and 77 as yes and no.
    "qwen3_score": ("Qwen3ForCausalLM", "Qwen3Config", dict(SMALL, vocab_size=360, tie_word_embeddings=True,
                                                             max_position_embeddings=200), "qwen2", ("", ""), None, []),
    "llama_score": ("LlamaForCausalLM", "LlamaConfig", dict(SMALL, vocab_size=442, max_position_embeddings=200),
                    "spm_first", ("<s>", "</s>"), None, []),
}
# true_token_id and false_token_id of sentence-transformers' LogitScore, and its chat template.
SCORES = {"qwen3_score": (88, 77), "llama_score": (88, None)}
MESSAGE = '{{ messages | selectattr("role", "eq", "%s") | map(attribute="content") | first%s }}'
CHAT = ("<Instruct>: " + MESSAGE % ("system", ' | default("Find \\"it\\"")') + "\n<Query>: " + MESSAGE % ("query", "") +
        "\n<Document>: {{-' '}}  " + MESSAGE.replace("}}", "-}}") % ("document", "") + "\n\n{{ 'Yes?' }}\n\n")
TEXTS = ["What is fused?", "", "A kernel is a fused kernel", "x", "Each function of the runtime states its rounding order."]


def make_tokenizer(folder, name, around):
    with open(os.path.join(HERE, "tokenizers", name + ".json")) as f:
        file = json.load(f)
    known = {token["content"]: token["id"] for token in file["added_tokens"]}

    def special(token):
        return [{"SpecialToken": {"id": token, "type_id": 0}}] if token else []

    def text(which):
        return {"Sequence": {"id": which, "type_id": 0}}

    before, after = map(special, around)
    processor = {"type": "TemplateProcessing", "single": before + [text("A")] + after,
                 "pair": before + [text("A"), text("B")] + after,
                 "special_tokens": {token: {"id": token, "ids": [known[token]], "tokens": [token]}
                                    for token in around if token}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    if name == "qwen2":
        processor = {"type": "Sequence", "processors": [byte_level, processor]} if any(around) else byte_level
    file["post_processor"] = processor
    path = os.path.join(folder, "tokenizer.json")
    with open(path, "w") as f:
        json.dump(file, f, ensure_ascii=False)
        f.write("\n")
    return tokenizers.Tokenizer.from_file(path)


def pool(x, how):
    """The vector of x [n, C]."""
    if how == "lasttoken":
        return x[-1]
    weights = torch.ones(len(x), dtype=x.dtype) if how == "mean" else torch.arange(1, len(x) + 1, dtype=x.dtype)
    return (x * weights[:, None]).sum(0) / weights.sum()


def vector_of(model, ids, name):
    """Before layers behind the pooling; or logits."""
    n, how = len(ids), CASES[name][5]
    arguments = {}
    if name.endswith("_both"):
        arguments["attention_mask"] = torch.zeros(1, 1, n, n, dtype=next(model.parameters()).dtype)
    with torch.no_grad():
        result = model(input_ids=torch.tensor([ids]), use_cache=False, **arguments)
    if name in SCORES:
        yes, no = SCORES[name]
        logits = result.logits[0, -1]
        return (logits[yes] - (logits[no] if no is not None else 0))[None]
    return pool(result.last_hidden_state[0], how) if how else result.logits[0]


def write_json(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def make_modules(folder, how, layers, rng):
    """Writes the files of sentence-transformers; returns the layers."""
    modules, made, size = [("", "Transformer"), ("1_Pooling", "Pooling")], [], SMALL["hidden_size"]
    write_json(folder, "1_Pooling/config.json", {"word_embedding_dimension": size, "pooling_mode": how})
    for i, width in enumerate(layers):
        name = "%d_Dense" % (i + 2)
        weight = (rng.standard_normal((width, size)) / size ** 0.5).astype(np.float32)
        write_json(folder, name + "/config.json",
                   {"in_features": size, "out_features": width, "bias": False,
                    "activation_function": "torch.nn.modules.linear.Identity"})
        write_safetensors(os.path.join(folder, name, "model.safetensors"), {"linear.weight": weight})
        modules.append((name, "Dense"))
        made.append(torch.from_numpy(weight).double())
        size = width
    modules.append(("%d_Normalize" % len(modules), "Normalize"))
    write_json(folder, "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
        for i, (path, kind) in enumerate(modules)])
    write_json(folder, "config_sentence_transformers.json",
               {"prompts": {"query": QUERY, "document": ""}, "default_prompt_name": None})
    return made


def make_score(folder, name):
    """Writes the files of sentence-transformers for a reranking decoder."""
    yes, no = SCORES[name]
    write_json(folder, "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers." + kind} for i, (path, kind) in
        enumerate([("", "base.modules.transformer.Transformer"),
                   ("1_LogitScore", "cross_encoder.modules.logit_score.LogitScore")])])
    write_json(folder, "1_LogitScore/config.json",
               {"true_token_id": yes, "false_token_id": no, "module_input_name": "causal_logits"})
    flat = {"method": "forward", "method_output_name": "logits"}
    write_json(folder, "sentence_bert_config.json",
               {"transformer_task": "text-generation", "module_output_name": "causal_logits",
                "modality_config": {"text": flat, "message": dict(flat, format="flat")}})
    prompts = {"prompts": {"web": "Find a page"}, "default_prompt_name": "web"} if no is None else {"prompts": {}}
    write_json(folder, "config_sentence_transformers.json", dict(prompts, model_type="CrossEncoder"))
    with open(os.path.join(folder, "chat_template.jinja"), "w") as f:
        f.write(CHAT)


def ask(name, query, document):
    """The prompt, as Jinja makes it."""
    messages = [{"role": "query", "content": query}, {"role": "document", "content": document}]
    if SCORES[name][1] is None:
        messages.insert(0, {"role": "system", "content": "Find a page"})
    return transformers.utils.chat_template_utils.render_jinja_template([messages], chat_template=CHAT)[0][0]


def make_case(name):
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    model_class, config_class, arguments, tokenizer, around, how, layers = CASES[name]
    folder = os.path.join(HERE, "fixtures", "embed_" + name)
    os.makedirs(folder, exist_ok=True)

    def make():
        config = getattr(transformers, config_class)(**arguments, attn_implementation="eager")
        return getattr(transformers, model_class)(config).eval()

    model = make()
    randomise(model, rng)
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.weight.data *= 4
    if name == "gemma3":  # its norms' weights are gamma - 1
        for p in model.parameters():
            if p.dim() == 1:
                p.data -= 1
    with everything_in_float64():
        exact = make()
        exact.load_state_dict({key: value.double() for key, value in model.state_dict().items()})
        exact = exact.double()
    tensors = saved_tensors(model, folder)
    write_safetensors(os.path.join(folder, "model.safetensors"), dict(sorted(tensors.items())))
    write_config(folder, name)
    if name.endswith("_both"):
        with open(os.path.join(folder, "config.json")) as f:
            config = json.load(f)
        write_json(folder, "config.json", dict(config, is_causal=False))
    encoder = make_tokenizer(folder, tokenizer, around)

    dense = make_modules(folder, how, layers, rng) if how else []
    if name in SCORES:
        make_score(folder, name)
    vectors = []
    for text in TEXTS if how else TEXTS[1:]:
        if name in SCORES:
            ids = encoder.encode(ask(name, TEXTS[0], text), add_special_tokens=False).ids
        elif name == "llama_rank":
            ids = encoder.encode(TEXTS[0], text).ids
        else:
            ids = encoder.encode(text).ids
        if not ids:
            vectors.append(np.zeros(3))
            continue
        with everything_in_float64():
            v = vector_of(exact, ids, name)
        for weight in dense:
            v = weight @ v
        vectors.append((v / v.norm() if how else v).numpy())
    np.save(os.path.join(folder, "vectors.npy"), np.array(vectors))
    with open(os.path.join(folder, "texts.txt"), "w") as f:
        f.write("".join(text + "\n" for text in TEXTS))

    ids = encoder.encode(TEXTS[-1]).ids[:16]
    with everything_in_float64():
        high = vector_of(exact, ids, name).numpy()
    low = vector_of(model, ids, name).numpy()
    output = "embedding" if how else "logits"
    np.save(os.path.join(folder, "ids.npy"), np.array([ids], np.int32))
    np.save(os.path.join(folder, output + ".npy"), high)
    with open(os.path.join(folder, "case.txt"), "w") as f:
        f.write("script tests/fixtures/embed_%s\nset T=16\n" % name)
        if name in SCORES:
            f.write("set score=%s\n" % ",".join(str(token) for token in SCORES[name] if token is not None))
        else:
            f.write("set pooling=%s\n" % how if how else "set classes=%d\n" % arguments["num_labels"])
        f.write("input ids\nexpect %s\natol %s\n" % (output, round_up(max(5e-6, 5 * np.abs(low - high).max()))))
    print("%-16s %d texts of %d numbers, |y| up to %.3f, PyTorch's float32 is off by %.1e"
          % (name, len(vectors), len(vectors[0]), np.abs(high).max(), np.abs(low - high).max()))


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        if case not in CASES:
            sys.exit("%s is no case, expected one of: %s" % (case, " ".join(CASES)))
        make_case(case)
