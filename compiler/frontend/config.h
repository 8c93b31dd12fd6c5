/* config.h - reads the file given by --config: values for the options of a script. */
#ifndef CR_CONFIG_H
#define CR_CONFIG_H

#include "script_state.h"

/* Reads the file run->config, unless that is null, into run->values, sorted by key. */
void cr_read_config(lua_State *L, struct cr_run *run);

void cr_free_config(struct cr_run *run);

#endif
