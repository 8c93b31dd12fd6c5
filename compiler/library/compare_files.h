/*
 * compare_files.h - compares the files that ranks read.
 *
 * Ranks may read files on different machines.  Options, graph, parameters and inputs are compared
 * as values, by hashes, elsewhere.  This file compares the files of a model as bytes, before they
 * are used: for example the tokenizer, or the settings that name the token at which a text ends.
 */
#ifndef CR_COMPARE_FILES_H
#define CR_COMPARE_FILES_H

#include "handles.h"

/*
 * Fails if the file at `path` differs from that of rank 0.  All ranks call it, each with its own
 * path; `what` names the contents in the message.  If `path` is a folder in Hugging Face's layout,
 * the files of its settings, its tokenizer and its weights are compared, also those in folders of
 * modules (1_Pooling).  Other files of the folder are ignored.
 *
 * Of a large file only the samples of files/samples.h are compared.  A file that one rank lacks counts
 * as a difference.
 */
int cr_compare_files(const crescent_context *context, const char *path, const char *what, struct cr_error *error);

#endif
