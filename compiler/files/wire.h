/*
 * wire.h - reads the wire format of protocol buffers.  A message is a list of fields, each with a
 * number and a value: a variable-length integer, 4 or 8 bytes, or a length and bytes (text, a
 * message, or packed numbers).
 */
#ifndef CR_WIRE_H
#define CR_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a message that have not been read yet. */
struct cr_wire {
    const unsigned char *at, *end;
};

enum cr_wire_kind {
    CR_WIRE_INTEGER = 0,
    CR_WIRE_8_BYTES = 1,
    CR_WIRE_BYTES = 2,
    CR_WIRE_4_BYTES = 5
};

struct cr_wire_field {
    uint32_t number;
    enum cr_wire_kind kind;
    uint64_t integer;     /* CR_WIRE_INTEGER */
    struct cr_wire bytes; /* other kinds */
};

/* Reads the next field; returns 1, 0 at the end of the message, or -1 if its bytes are invalid. */
int cr_wire_next(struct cr_wire *wire, struct cr_wire_field *field);

/* Reads the next integer of a packed field; returns 1, 0 at the end of the field, or -1 if its
 * bytes are invalid. */
int cr_wire_integer(struct cr_wire *wire, uint64_t *out);

#endif
