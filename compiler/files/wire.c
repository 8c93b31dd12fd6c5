/* wire.c - reads the wire format of protocol buffers; see wire.h. */
#include "wire.h"

int cr_wire_integer(struct cr_wire *wire, uint64_t *out)
{
    uint64_t value = 0;
    if (wire->at == wire->end)
        return 0;
    for (int shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        unsigned char byte = *wire->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return 1;
        }
    }
    return -1;
}

/* Sets *out to the next n bytes and moves past them; returns -1 if there are fewer. */
static int take(struct cr_wire *wire, uint64_t n, struct cr_wire *out)
{
    if (n > (uint64_t)(wire->end - wire->at))
        return -1;
    *out = (struct cr_wire){wire->at, wire->at + n};
    wire->at += n;
    return 1;
}

/* Reads the value of a field whose kind was read. */
static int read_value(struct cr_wire *wire, struct cr_wire_field *field)
{
    uint64_t length;
    switch (field->kind) {
    case CR_WIRE_INTEGER:
        return cr_wire_integer(wire, &field->integer) == 1 ? 1 : -1;
    case CR_WIRE_8_BYTES:
        return take(wire, 8, &field->bytes);
    case CR_WIRE_4_BYTES:
        return take(wire, 4, &field->bytes);
    case CR_WIRE_BYTES:
        return cr_wire_integer(wire, &length) == 1 ? take(wire, length, &field->bytes) : -1;
    }
    return -1; /* a group: ONNX has none */
}

int cr_wire_next(struct cr_wire *wire, struct cr_wire_field *field)
{
    uint64_t key;
    int status = cr_wire_integer(wire, &key);
    if (status != 1)
        return status;
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
        return -1;
    *field = (struct cr_wire_field){.number = (uint32_t)(key >> 3),
                                    .kind = (enum cr_wire_kind)(key & 7)};
    return read_value(wire, field);
}
