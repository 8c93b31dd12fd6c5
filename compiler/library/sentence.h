/*
 * sentence.h - reads how a folder of sentence-transformers makes the vector of a text: modules.json
 * and the files that it names.
 */
#ifndef CR_SENTENCE_H
#define CR_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"

/* Strings are allocated. */
struct cr_sentence {
    char *pooling;      /* a kind of graphs/lib/embedding.lua; "mean" if no file says it */
    char *modules;      /* the layers after the pooling, as embedding.vector takes them, but ... */
    bool normalize;     /* ... a Normalize at the end; null: nothing */
    int64_t max_length; /* the most tokens of a text in sentence_bert_config.json; 0: not given */
    int64_t model_max_length; /* the most tokens of a text in tokenizer_config.json; 0: not given */
    int64_t positions;  /* max_position_embeddings of config.json; 0: none */
    bool excludes_prompt; /* a pooling without the tokens of the prompt */
    char *prompt;       /* a text that is put in front of each text; may be null */
    char **labels;      /* the labels of a classifier */
    int n_labels;
    bool sigmoid, plain; /* how its probabilities are computed: as a sigmoid of each logit; as
                            the logits themselves */
};

/* Reads the files of a folder, which may be missing.  `role`, "query", "document" or null, chooses the
 * prompt.  Fails for modules other than Transformer, Pooling, Dense and Normalize. */
int cr_read_sentence(struct cr_sentence *sentence, const char *folder, const char *role,
                     struct cr_error *error);

/* Sets the most tokens of a text to the first of these limits that is not 0: the caller's, the files', the
 * tokenizer's, 512; but at most to the number of positions. */
int cr_limit_sentence(struct cr_sentence *sentence, int64_t asked, int64_t of_tokenizer,
                      struct cr_error *error);

/* Lowers the limit to the positions of the script, the bound of its length T; fails if the caller asked for
 * more. */
int cr_lower_sentence_limit(struct cr_sentence *sentence, int64_t asked, int64_t positions,
                            struct cr_error *error);

/* The settings that the script of an encoder gets: the most tokens, and the pooling or the number of classes. */
struct cr_sentence_settings {
    char most[24], classes[24];
    crescent_setting items[4];
    int n;
};

/* Returns the caller's script, which may be null, with these settings before its own.  The caller
 * frees script.settings, whose texts are in `of_files`. */
crescent_script cr_sentence_script(struct cr_sentence_settings *of_files, const struct cr_sentence *sentence,
                                   const crescent_script *how);

/* Reads the labels of a classifier, and what makes probabilities of its logits, from config.json. */
int cr_read_labels(struct cr_sentence *sentence, const char *folder, struct cr_error *error);
void cr_free_sentence(struct cr_sentence *sentence);

#endif
