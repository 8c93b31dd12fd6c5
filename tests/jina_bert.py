"""The BERT of Jina Embeddings 2 (Günther et al., 2023) in PyTorch, which transformers does not have: scores with a bias
by distance in place of positions, and a gated feed-forward.  Parameters have the names of the published files."""
import math

import torch
from torch import nn
from transformers import BertConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling


def slopes(n):
    """Of each head; if n is no power of 2, those of the next lower one and every other one of the next higher."""
    power = 2 ** int(math.log2(n))
    first = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return first + slopes(2 * power)[::2][:n - power] if n > power else first


class Part(nn.Module):
    """A module of named modules."""

    def __init__(self, /, **parts):
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)


def make_layer(config):
    def linear():
        return nn.Linear(config.hidden_size, config.hidden_size)

    def norm():
        return nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    return Part(
        attention=Part(self=Part(query=linear(), key=linear(), value=linear()),
                       output=Part(dense=linear(), LayerNorm=norm())),
        mlp=Part(gated_layers=nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False),
                 wo=nn.Linear(config.intermediate_size, config.hidden_size), layernorm=norm()))


class JinaBertModel(PreTrainedModel):
    config_class = BertConfig

    def __init__(self, config):
        super().__init__(config)
        size = config.hidden_size
        self.embeddings = Part(word_embeddings=nn.Embedding(config.vocab_size, size),
                               token_type_embeddings=nn.Embedding(config.type_vocab_size, size),
                               LayerNorm=nn.LayerNorm(size, config.layer_norm_eps))
        self.encoder = Part(layer=nn.ModuleList(make_layer(config) for _ in range(config.num_hidden_layers)))
        self.pooler = Part(dense=nn.Linear(size, size))
        self.post_init()

    def attend(self, x, attention, bias):
        heads = [linear(x).unflatten(-1, (self.config.num_attention_heads, -1)).transpose(1, 2)
                 for linear in (attention.query, attention.key, attention.value)]
        q, k, v = heads
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]) + bias
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)

    def feed_forward(self, x, mlp):
        gate, up = mlp.gated_layers(x).chunk(2, -1)
        act = {"geglu": nn.functional.gelu, "reglu": torch.relu}[self.config.feed_forward_type]
        return mlp.layernorm(mlp.wo(act(gate) * up) + x)

    def forward(self, input_ids, token_type_ids, attention_mask=None):
        parts = self.embeddings
        x = parts.LayerNorm(parts.word_embeddings(input_ids) + parts.token_type_embeddings(token_type_ids))
        places = torch.arange(input_ids.shape[1])
        distance = (places[:, None] - places).abs().to(x.dtype)
        bias = -torch.tensor(slopes(self.config.num_attention_heads), dtype=x.dtype)[:, None, None] * distance
        if attention_mask is not None:
            bias = bias.masked_fill(attention_mask[:, None, None] == 0, -math.inf)
        for layer in self.encoder.layer:
            output = layer.attention.output
            x = output.LayerNorm(output.dense(self.attend(x, getattr(layer.attention, "self"), bias)) + x)
            x = self.feed_forward(x, layer.mlp)
        return BaseModelOutputWithPooling(last_hidden_state=x, pooler_output=torch.tanh(self.pooler.dense(x[:, 0])))
