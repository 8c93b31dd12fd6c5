/* signature.h - parses a signature of functions.def, which states the meaning of a runtime call's
 * arguments. */
#ifndef CR_SIGNATURE_H
#define CR_SIGNATURE_H

#include "program.h"

enum { CR_MAX_SIGNATURE = 18 };

/* A count or a stride: the value of an argument of the call, or a constant. */
struct cr_size {
    int argument; /* index of the argument, from 0; CR_NONE for a constant */
    int64_t number;
};

enum cr_parameter_kind {
    CR_PARAMETER_COUNT,   /* a non-negative integer */
    CR_PARAMETER_INTEGER, /* any other integer, such as a stride */
    CR_PARAMETER_FLOAT,
    CR_PARAMETER_ADDRESS,
};

/* The element type of an address: the C type of the call's format, or int or float regardless of
 * it. */
enum cr_element { CR_ELEMENT_OF_CALL, CR_ELEMENT_INT, CR_ELEMENT_FLOAT };

/* One parameter of a runtime function.  An address points to rows x cols elements, or to panels
 * of rows x CR_PANEL. */
struct cr_parameter {
    enum cr_parameter_kind kind;
    bool read, written, nullable;
    bool panels;           /* the address points to panels; row_stride is the distance between
                            * panels, in units of the format */
    enum cr_format format; /* the format of panels, or of rows rounded for an arithmetic; else
                            * f32 */
    enum cr_element element;
    struct cr_size rows, cols, row_stride, col_stride;
};

struct cr_signature {
    int n; /* number of parameters */
    struct cr_parameter parameters[CR_MAX_SIGNATURE];
};

/* Parses the signature of a call (cr_callee_signature) into *signature. */
void cr_parse_signature(struct cr_signature *signature, const struct cr_call *call);

#endif
