/* metaspace.h - Metaspace, a pre-tokenizer and a decoder: represents spaces by a visible character,
 * mostly U+2581. */
#ifndef CR_METASPACE_H
#define CR_METASPACE_H

#include "tokenizer_part.h"

cr_read_function cr_read_metaspace;
cr_cut_function cr_cut_metaspace;
cr_decode_function cr_decode_metaspace;
cr_shape_function cr_list_metaspace, cr_shape_decode_metaspace;

#endif
