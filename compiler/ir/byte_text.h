/* byte_text.h - formats a number of bytes for people: "7.6 GiB". */
#ifndef CR_BYTE_TEXT_H
#define CR_BYTE_TEXT_H

#include <stdint.h>

struct cr_byte_text {
    char text[24];
};

struct cr_byte_text cr_byte_text(int64_t bytes);

#endif
