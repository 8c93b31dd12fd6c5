/* verify_fault.c - functions that all parts of the check of a program use: error messages, and
 * signatures of calls. */
#include <stdarg.h>
#include <stdio.h>

#include "compiler/ir/mem.h"
#include "verify_program.h"

int cr_program_fault(const struct cr_program_check *c, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (c->statement != CR_NONE)
        return cr_fail(c->error, "function %d, statement %d: %s", c->function + 1, c->statement,
                       what);
    return cr_fail(c->error, "function %d: %s", c->function + 1, what);
}

/* Returns the signature of a call; parses each signature only once.  The signature of an
 * elementwise op depends on its arity, on which operands have one number a row, and on its type
 * rule. */
const struct cr_signature *cr_signature_of(struct cr_program_check *c, const struct cr_call *call)
{
    int at = (int)call->callee;
    if (call->callee == CR_CALLEE_MAP) {
        const struct cr_op_info *op = &cr_ops[call->op];
        at = CR_CALLEE_COUNT + ((op->arity - 1) * 8 + (int)call->by_row) * 6 + (int)op->rule;
    }
    if (!c->signatures[at]) {
        c->signatures[at] = cr_calloc(1, sizeof **c->signatures);
        cr_parse_signature(c->signatures[at], call);
    }
    return c->signatures[at];
}
