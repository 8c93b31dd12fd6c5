/*
 * sentence_transformers.h - reads from a folder of sentence-transformers how the vector of a text
 * is computed: modules.json and the files that it names.
 */
#ifndef CR_SENTENCE_TRANSFORMERS_H
#define CR_SENTENCE_TRANSFORMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "ranking_prompt.h"

/* The most tokens of a text for a table of token vectors, if no file gives a limit.
 * (sentence-transformers then has none.) */
enum { CR_TABLE_TOKENS = 1 << 20 };

/* The settings in the files.  The struct owns its strings. */
struct cr_sentence {
    char *pooling;      /* a kind of pooling of graphs/lib/embedding.lua; "mean" if no file names
                           one */
    char *modules;      /* the modules after the pooling, as an argument for embedding.vector,
                           without a Normalize at the end; or null */
    bool has_layers;    /* some of the modules are Dense or LayerNorm, which have weights */
    int64_t layer_takes; /* the size of the vector that the first module with weights takes */
    int64_t token_size; /* the size of a token's vector according to the Pooling's file; 0 if it
                           gives none */
    char *token_size_at; /* where token_size was read, "FILE:LINE: found KEY"; or null */
    bool pools;         /* modules.json has a Pooling or a StaticEmbedding */
    bool ranks;         /* the model is a classifier or a reranker in a GGUF file */
    char *inner;        /* the path, inside the folder, of the model and its tokenizer; "" or null:
                           the folder itself */
    bool encodes;       /* modules.json has a Transformer */
    bool table;         /* a table of token vectors takes the place of a Transformer */
    bool truncates;     /* only the first elements of vectors are kept */
    bool pooling_is_set; /* the caller has set the pooling */
    char *output;       /* the output that the Transformer's file names; null: the vectors of
                           tokens */
    bool normalize;     /* the last module is a Normalize */
    int64_t max_length; /* the most tokens of a text according to sentence_bert_config.json; 0 if it
                           gives none */
    bool lower_case;    /* that file demands that texts are converted to lower case before the
                           tokenizer */
    int64_t model_max_length; /* the most tokens of a text according to tokenizer_config.json; 0 if
                                 it gives none */
    int64_t positions;  /* max_position_embeddings in config.json; 0 if it gives none */
    bool segments;      /* the model has an input for the segments that the tokenizer assigns to
                           tokens */
    bool excludes_prompt; /* the pooling ignores the tokens of the prompt */
    char *prompt;       /* a text that is put before each text, or null */
    char **labels;      /* the names of a classifier's labels */
    int n_labels;
    char *score;        /* of a reranking decoder: the ids of its answer tokens, "YES,NO" or "YES";
                           null for other models */
    char *pad;          /* the token that fills up texts, if the model needs one; else null */
    int32_t pad_id;     /* the id of `pad`, which the caller sets */
    struct cr_ranking_prompt template; /* of a reranking decoder: the prompt's template */
    bool sigmoid, plain; /* sigmoid: probabilities are the sigmoid of each logit rather than a
                            softmax; plain: scores are the logits themselves */
};

/* Reads the files of a folder, each of which may be missing.  `role`, "query", "document" or null,
 * selects the prompt.  Fails for modules other than Transformer, StaticEmbedding, Pooling, Dense,
 * LayerNorm, Normalize, Dropout and LogitScore. */
int cr_read_sentence(struct cr_sentence *sentence, const char *folder, const char *role,
                     struct cr_error *error);

/* Returns the folder of the model and the tokenizer, which is the folder itself or one inside.  The
 * caller frees the path. */
char *cr_sentence_folder(const struct cr_sentence *sentence, const char *folder);

/* Fails if the Pooling's file gives another size of a token's vector than the open model has; the
 * model's vector of a text has `size` elements.  Does nothing if the caller has set the pooling or
 * the modules, and for classifiers and rerankers. */
int cr_check_token_size(const struct cr_sentence *sentence, const crescent_script *how, int64_t size,
                        struct cr_error *error);

/* Sets the kind of pooling to `kind`, in place of all kinds that the files name. */
void cr_set_pooling(struct cr_sentence *sentence, const char *kind);

/* Makes the pooling ignore the first `tokens` tokens of a text, which are the prompt's.  Afterwards
 * the modules must not be changed. */
void cr_leave_out_prompt(struct cr_sentence *sentence, int64_t tokens);

/* Sets the limit of tokens of a text to the first of these that is not 0: the caller's limit
 * `asked`; max_seq_length of sentence_bert_config.json; model_max_length of tokenizer_config.json;
 * the number of positions; the limit in tokenizer.json; 512.  For a table of token vectors, the
 * second to fourth are ignored, and CR_TABLE_TOKENS replaces 512.  The limit never exceeds the
 * number of positions. */
int cr_limit_sentence(struct cr_sentence *sentence, int64_t asked, int64_t of_tokenizer,
                      struct cr_error *error);

/* Lowers the limit to the script's number of positions, the bound of its length T.  Fails if the
 * caller asked for more. */
int cr_lower_sentence_limit(struct cr_sentence *sentence, int64_t asked, int64_t positions,
                            struct cr_error *error);

/* The settings for the script of an encoder: the most tokens, and either the pooling or the number
 * of classes. */
struct cr_sentence_settings {
    char most[24], classes[24], pad[24];
    crescent_setting items[5];
    int n;
};

/* Returns the script `how`, which may be null, with the settings of the files inserted before its
 * own.  The caller frees script.settings; the texts in it belong to `of_files`. */
crescent_script cr_sentence_script(struct cr_sentence_settings *of_files, const struct cr_sentence *sentence,
                                   const crescent_script *how);

/* Fails if neither the files nor the caller tell how to compute the vector of a text. */
int cr_check_pooling(const struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Fails for a reranking decoder, which does not compute vectors. */
int cr_check_vectors(const struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Adds the class in config.json to an error about a missing tensor, if models of that class have no
 * labels. */
void cr_name_class(const char *folder, struct cr_error *error);

/* Reads from config.json the labels of a classifier, and how its logits become probabilities.  A
 * reranking decoder has one label. */
int cr_read_labels(struct cr_sentence *sentence, const char *folder, struct cr_error *error);

/* Sets *is_reranker to true for a folder of Qwen3-Reranker without modules.json: a decoder that
 * answers "yes" or "no". */
int cr_is_yes_no_reranker(const char *folder, bool *is_reranker, struct cr_error *error);

/* Sets *has_classes to true for the folder of a classifier: modules.json is missing or has no
 * Pooling, and the class in config.json ends in ForSequenceClassification, or it names no class but
 * has labels. */
int cr_has_classes(const struct cr_sentence *sentence, const char *folder, bool *has_classes, struct cr_error *error);

/* Sets the answer tokens to the ids of "yes" and "no", and the template to the one of
 * Qwen3-Reranker.  Fails if an id is -1, which means that the folder's tokenizer does not have the
 * token. */
int cr_set_yes_no_reranker(struct cr_sentence *sentence, const char *folder, int yes, int no,
                           struct cr_error *error);
void cr_free_sentence(struct cr_sentence *sentence);

#endif
