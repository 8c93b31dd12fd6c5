/* standalone_text.c - pieces of text of which standalone files are made; see standalone_text.h. */
#include "standalone_text.h"

#include <string.h>

#include "compiler/ir/identifiers.h"

void cr_put_port(struct cr_text *t, const struct cr_port *port)
{
    cr_put(t, "%s", port->identifier);
}

void cr_put_origin(struct cr_text *t, const struct cr_port *port)
{
    char plain[256];
    cr_plain_text(plain, sizeof plain, port->name);
    if (strlen(plain) != strlen(port->identifier))
        cr_put(t, " (%s)", plain);
}

void cr_put_port_upper(struct cr_text *t, const struct cr_port *port)
{
    for (const char *p = port->identifier; *p; p++)
        cr_put(t, "%c", cr_upper(*p));
}

/* What is not plain ASCII is escaped, so any name is safe. */
void cr_put_string(struct cr_text *t, const char *string)
{
    cr_put(t, "\"");
    for (const unsigned char *p = (const unsigned char *)string; *p; p++) {
        if (*p < 32 || *p > 126 || *p == '"' || *p == '\\' || *p == '?')
            cr_put(t, "\\%03o", *p);
        else
            cr_put(t, "%c", *p);
    }
    cr_put(t, "\"");
}

void cr_put_port_shape(struct cr_text *t, const struct cr_port *port)
{
    char shape[200];
    cr_put(t, "%s", cr_shape_text(shape, sizeof shape, port->rank, port->shape));
}

void cr_put_threads(struct cr_text *t, const struct cr_standalone *w)
{
    cr_put(t,
           "/* Threads that share the work; more than 1 needs pthreads (compile both with the\n"
           " * same value, as in -D%s_THREADS=4 -pthread). */\n"
           "#ifndef %s_THREADS\n#define %s_THREADS 1\n#endif\n\n",
           w->upper, w->upper, w->upper);
}
