/* config.c - fuzz target: any bytes as a file of options, in JSON and in Lua, are refused with a
 * line, or give the script's options values of their types. */
#include "compiler/frontend/script.h"

#include "target.h"

static const char model[] =
    "local o = options({n = 3, x = {number = 1}, b = true, s = 'a', c = {'one', 'two'}},\n"
    "    {['t.n'] = 'n', ['t.s'] = 's', list = false, many = false})\n"
    "assert(o.n == math.floor(o.n) and o.x < math.huge and (o.c == 'one' or o.c == 'two'))\n"
    "assert(type(o.b) == 'boolean' and type(o.s) == 'string')\n"
    "return {y = input('x', {1})}\n";

/* True if an assert of the script `model` failed.  An option file can contain the same words, but
 * its errors begin with its own name. */
static bool is_assertion(const char *error)
{
    return strncmp(error, "model.lua:", 10) == 0 && strstr(error, "assertion failed");
}

/* Runs the script with the bytes in a file with a suffix, which is removed afterwards. */
static void run_with(const uint8_t *data, size_t size, const char *suffix)
{
    char path[64];
    struct cr_script script = {0};
    struct cr_error error = {""};
    snprintf(path, sizeof path, "/tmp/crescent-config-XXXXXX%s", suffix);
    int fd = mkstemps(path, (int)strlen(suffix));
    PROMISE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    const struct cr_script_source source = {
        .path = "model.lua", .text = model, .length = sizeof model - 1, .config = path};
    int status = cr_script_run(&source, NULL, 0, &script, &error);
    unlink(path);
    if (status != 0) {
        promise_message(error.text);
        PROMISE(!is_assertion(error.text));
        return;
    }
    PROMISE(script.graph && script.n_options == 5);
    cr_script_free(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_with(data, size, ".json");
    run_with(data, size, ".lua");
    return 0;
}
