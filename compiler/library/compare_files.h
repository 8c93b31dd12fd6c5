/*
 * compare_files.h - compares the files that ranks read.
 *
 * Ranks read files on machines of their own.  Options, graph, parameters and inputs are compared as values, by hashes,
 * in other places; this compares the files of a model as bytes, before they take effect: a tokenizer, say, or the token
 * that ends a text.
 */
#ifndef CR_COMPARE_FILES_H
#define CR_COMPARE_FILES_H

#include "handles.h"

/*
 * Fails if the file at `path` differs from that of rank 0.  All ranks call it, each with a path of its own; `what` names
 * the contents in the message.  If `path` is a folder in Hugging Face's layout, its settings, its tokenizer and its weights
 * are compared, and so are those in its modules (1_Pooling).  Other files of the folder do not count.
 *
 * Of a file of more than 16 MiB it reads the first 16 MiB, and of the rest 256 pieces of 4 KiB at equal distances.  A
 * file that a folder does not have differs from one that is there.
 */
int cr_compare_files(const crescent_context *context, const char *path, const char *what, struct cr_error *error);

#endif
