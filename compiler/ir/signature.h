/* signature.h - what the arguments of a runtime call mean: a signature of functions.def, parsed. */
#ifndef CR_SIGNATURE_H
#define CR_SIGNATURE_H

#include "program.h"

enum { CR_MAX_SIGNATURE = 18 };

/* A count or a distance: what an argument of the call says, or else a number. */
struct cr_size {
    int argument; /* of the call, from 0; or CR_NONE */
    int64_t number;
};

enum cr_parameter_kind {
    CR_PARAMETER_COUNT,   /* an integer that is not negative */
    CR_PARAMETER_INTEGER, /* any other, such as a distance */
    CR_PARAMETER_FLOAT,
    CR_PARAMETER_ADDRESS,
};

/* Which tiles an address is of: those of the call's format, or of one whatever that is. */
enum cr_element { CR_ELEMENT_OF_CALL, CR_ELEMENT_INT, CR_ELEMENT_FLOAT };

/* One argument.  An address is of rows x cols elements, or of panels of rows x CR_PANEL. */
struct cr_parameter {
    enum cr_parameter_kind kind;
    bool read, written, nullable;
    bool panels;           /* row_stride is from panel to panel, in units of their format */
    enum cr_format format; /* of panels, and of rows that an arithmetic rounded; else f32 */
    enum cr_element element;
    struct cr_size rows, cols, row_stride, col_stride;
};

struct cr_signature {
    int n; /* arguments */
    struct cr_parameter parameters[CR_MAX_SIGNATURE];
};

/* Parses what cr_callee_signature says of a call. */
void cr_parse_signature(struct cr_signature *signature, const struct cr_call *call);

#endif
