/*
 * sentence_transformers.h - reads how a folder of sentence-transformers makes the vector of a text:
 * modules.json and the files that it names.
 */
#ifndef CR_SENTENCE_TRANSFORMERS_H
#define CR_SENTENCE_TRANSFORMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "ranking_prompt.h"

/* The most tokens of a text whose vectors a table has, if no file says it: sentence-transformers has no
 * limit. */
enum { CR_TABLE_TOKENS = 1 << 20 };

/* The settings of the files.  The struct owns its strings. */
struct cr_sentence {
    char *pooling;      /* a kind of graphs/lib/embedding.lua; "mean" if no file says it */
    char *modules;      /* the layers after the pooling, in the form of the argument of
                         * embedding.vector, without a Normalize at the end; null: none */
    bool has_layers;    /* some of them are Dense or LayerNorm, and have weights */
    int64_t layer_takes; /* the size of the vector that the first of these takes */
    int64_t token_size; /* the size of a token's vector in the file of the pooling; 0: not given */
    char *token_size_at; /* the place of token_size, "FILE:LINE: found KEY"; null if it is not given */
    bool pools;         /* modules.json has a Pooling, or a table */
    bool ranks;         /* a GGUF file of a classifier or reranker */
    char *inner;        /* the folder inside, or "" for the folder itself, with the Transformer or the table, and
                         * its tokenizer; null: the folder itself */
    bool encodes;       /* modules.json has a Transformer */
    bool table;         /* a table of the vectors of tokens takes the place of a Transformer */
    bool truncates;     /* vectors are cut to fewer numbers */
    bool pooling_is_set; /* by the caller */
    char *output;       /* what the Transformer gives, by its file; null: the vectors of tokens */
    bool normalize;     /* modules.json ends in a Normalize */
    int64_t max_length; /* the most tokens of a text in sentence_bert_config.json; 0: not given */
    bool lower_case;    /* that file asks for texts in small letters, whatever the tokenizer does */
    int64_t model_max_length; /* the most tokens of a text in tokenizer_config.json; 0: not given */
    int64_t positions;  /* max_position_embeddings of config.json; 0: none */
    bool segments;      /* the model gets the segments of tokens from the tokenizer */
    bool excludes_prompt; /* the pooling leaves out the tokens of the prompt */
    char *prompt;       /* a text that is put in front of each text; may be null */
    char **labels;      /* the labels of a classifier */
    int n_labels;
    char *score;        /* of a reranking decoder: the ids of the tokens that are its answer,
                         * "YES,NO" or "YES"; null for other models */
    char *pad;          /* the token that texts are filled up with, for a model that needs it; else null */
    int32_t pad_id;     /* its id, to be set by the caller */
    struct cr_ranking_prompt template; /* of a reranking decoder: the template of its prompt */
    bool sigmoid, plain; /* sigmoid: probabilities are the sigmoid of each logit, not a softmax;
                          * plain: scores are the logits themselves */
};

/* Reads the files of a folder, which may be missing.  `role`, "query", "document" or null, chooses
 * the prompt.  Fails for modules other than Transformer, StaticEmbedding, Pooling, Dense, LayerNorm,
 * Normalize, Dropout and LogitScore. */
int cr_read_sentence(struct cr_sentence *sentence, const char *folder, const char *role,
                     struct cr_error *error);

/* Returns the folder that has the model and the tokenizer, which the caller frees: the folder itself, or
 * one inside. */
char *cr_sentence_folder(const struct cr_sentence *sentence, const char *folder);

/* Fails if the file of the pooling has another size of a token's vector than the open model, whose vector
 * of a text has `size` numbers.  Does nothing for a pooling or modules that the caller sets, and for
 * classifiers and rerankers. */
int cr_check_token_size(const struct cr_sentence *sentence, const crescent_script *how, int64_t size,
                        struct cr_error *error);

/* Sets the kind of pooling, in place of all kinds of the files. */
void cr_set_pooling(struct cr_sentence *sentence, const char *kind);

/* Leaves the first `tokens` tokens of a text, those of the prompt, out of the pooling.  The modules must not be
 * changed after it. */
void cr_leave_out_prompt(struct cr_sentence *sentence, int64_t tokens);

/* Sets the limit of tokens of a text to the first of these that is not 0: the caller's limit; max_seq_length of
 * sentence_bert_config.json; model_max_length of tokenizer_config.json; the number of positions; the limit in
 * tokenizer.json; 512.  A table of vectors of tokens skips the second to fourth, and has CR_TABLE_TOKENS in place of
 * 512.  The limit never exceeds the number of positions. */
int cr_limit_sentence(struct cr_sentence *sentence, int64_t asked, int64_t of_tokenizer,
                      struct cr_error *error);

/* Lowers the limit to the positions of the script, the bound of its length T; fails if the caller
 * asked for more. */
int cr_lower_sentence_limit(struct cr_sentence *sentence, int64_t asked, int64_t positions,
                            struct cr_error *error);

/* The settings that the script of an encoder gets: the most tokens, and the pooling or the number
 * of classes. */
struct cr_sentence_settings {
    char most[24], classes[24], pad[24];
    crescent_setting items[5];
    int n;
};

/* Returns the caller's script, which may be null, with these settings before its own.  The caller
 * frees script.settings, whose texts are in `of_files`. */
crescent_script cr_sentence_script(struct cr_sentence_settings *of_files, const struct cr_sentence *sentence,
                                   const crescent_script *how);

/* Fails if the files say of no vector of a text, and neither does the caller. */
int cr_check_pooling(const struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Fails for a reranking decoder, which makes no vectors. */
int cr_check_vectors(const struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Adds the class in config.json to an error about a tensor that is missing, if models of that class have no
 * labels. */
void cr_name_class(const char *folder, struct cr_error *error);

/* Reads the labels of a classifier, and the function that turns its logits into probabilities,
 * from config.json.  A reranking decoder has one label. */
int cr_read_labels(struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Sets *is_reranker to true for a folder of Qwen3-Reranker without modules.json: a decoder that
 * answers "yes" or "no". */
int cr_is_yes_no_reranker(const char *folder, bool *is_reranker, struct cr_error *error);

/* Sets *has_classes to true for the folder of a classifier: modules.json, if it exists, has no
 * Pooling, and the class of config.json ends in ForSequenceClassification, or no class is named
 * but labels are. */
int cr_has_classes(const struct cr_sentence *sentence, const char *folder, bool *has_classes, struct cr_error *error);

/* Sets the tokens of the answer to the ids of "yes" and "no", and the template to
 * Qwen3-Reranker's.  Fails if an id is -1, that is, if the tokenizer of the folder has no such
 * token. */
int cr_set_yes_no_reranker(struct cr_sentence *sentence, const char *folder, int yes, int no,
                           struct cr_error *error);
void cr_free_sentence(struct cr_sentence *sentence);

#endif
