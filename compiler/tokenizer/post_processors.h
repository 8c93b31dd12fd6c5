/* post_processors.h - adds ids before and behind the ids of a text. */
#ifndef CR_POST_PROCESSORS_H
#define CR_POST_PROCESSORS_H

#include "part.h"

/* Returns the nested frames of all parts, the first part innermost.  The caller frees its
 * arrays. */
struct cr_frame cr_frame_of(const struct cr_text_parts *post_processors);

#endif
