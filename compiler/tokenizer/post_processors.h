/* post_processors.h - the ids that stand before and behind those of a text. */
#ifndef CR_POST_PROCESSORS_H
#define CR_POST_PROCESSORS_H

#include "part.h"

/* The frames of all parts, one around the other; its arrays are freed by the caller. */
struct cr_frame cr_frame_of(const struct cr_text_parts *post_processors);

#endif
