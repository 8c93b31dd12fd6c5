/*
 * strip_unused.h - removes unused parts of the text of a C file: macros and static functions
 * without use, declarations of functions that are used only after their definitions, include guards
 * of texts that appear once, and repeated includes.
 */
#ifndef CR_STRIP_UNUSED_H
#define CR_STRIP_UNUSED_H

#include "compiler/ir/text.h"

/*
 * Removes each macro and static function whose name occurs nowhere else in the text, with the
 * comment before it, and repeats this for names that only removed items used.  The comment of a
 * removed declaration moves to the definition.  Preprocessor conditions are not evaluated: a name
 * in any branch counts.  The text must be laid out like the runtime's source: definitions begin in
 * column 0, and a function ends at a line that begins with '}'.
 */
void cr_strip_unused(struct cr_text *text);

#endif
