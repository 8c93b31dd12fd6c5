/* call_chat.c - a chat with a model that crescent emit --generate --pack wrote; see generate-c.md. */
#include <stdio.h>
#include <string.h>

#include "llama.h"

enum { LINE = 400, ANSWER = 64 };

/* Packed weights, which can be used where they are read to; null if the file has none of this model. */
static const void *read_weights(const char *path)
{
    static _Alignas(64) unsigned char packed[LLAMA_PACKED_BYTES];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(packed, 1, sizeof packed, file) : 0;
    return file && fclose(file) == 0 ? llama_packed(packed, n) : NULL;
}

/* Feeds a line, and prints what follows; 0 if there was room for both. */
static int answer(struct llama_session *session, struct llama_stream *stream, const char *line)
{
    static int32_t ids[LLAMA_ENCODE_IDS(LINE)], work[LLAMA_ENCODE_WORK(LINE)];
    const struct llama_sampling how = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .seed = 1};
    int first = llama_session_used(session) == 0; /* only then with what a text begins with */
    long n = (long)llama_encode(line, strlen(line), first, ids, work);
    const char *text;
    size_t bytes;
    if (n < 1 || llama_feed(session, ids, n))
        return 1;
    for (long i = 0; i < n; i++)
        llama_text(stream, ids[i], &bytes);
    for (int i = 0; i < ANSWER; i++) {
        int32_t id = llama_choose(session, &how);
        if (id < 0 || llama_is_end(id))
            break;
        text = llama_text(stream, id, &bytes);
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
        if (llama_feed(session, &id, 1))
            return 1;
    }
    text = llama_text_end(stream, &bytes); /* of a character that was cut off */
    fwrite(text, 1, bytes, stdout);
    return puts("") < 0;
}

int main(int argc, char **argv)
{
    static _Alignas(64) unsigned char memory[LLAMA_SESSION_BYTES]; /* zeros, as a session begins */
    static struct llama_stream stream;
    char line[LINE];
    const void *weights = argc == 2 ? read_weights(argv[1]) : NULL;
    struct llama_session *session = llama_session_start(memory, weights, NULL);
    if (!session) {
        fprintf(stderr, "%s: cannot be read, expected a file that --pack wrote for this model\n",
                argc == 2 ? argv[1] : "PACKED_WEIGHTS");
        return 2;
    }
    int full = 0;
    while (!full && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        full = answer(session, &stream, line);
    }
    return full;
}
