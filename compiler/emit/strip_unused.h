/*
 * strip_unused.h - removes what nothing needs from the text of a C file: macros and static functions without
 * use, declarations of functions that are used only behind their definitions, include guards of what stands
 * there once, and includes of headers that are included already.
 */
#ifndef CR_STRIP_UNUSED_H
#define CR_STRIP_UNUSED_H

#include "compiler/ir/text.h"

/*
 * Removes each macro and static function whose name stands nowhere else in the text, with the comment
 * in front of it, and again what those alone use.  The comment on a declaration that is removed moves to
 * the definition.  Conditions of the preprocessor are not evaluated: a
 * name in any branch counts.  The text is laid out as the runtime's source is: definitions begin in
 * column 0, and a function ends at a line that begins with '}'.
 */
void cr_strip_unused(struct cr_text *text);

#endif
