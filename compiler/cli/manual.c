/* manual.c - generates manual pages and shell completions; see manual.h. */
#include "manual.h"

#include <string.h>

#include "option_values.h"
#include "verbs.h"

/* ---- manual pages ---- */

/* Writes text as roff: hyphens that can be copied, no escape sequences or requests from the text,
 * and the lines of a help text joined by spaces. */
static void put_roff(FILE *out, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        begins = *text == '\n';
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else if (*text != ' ' || text[1] != ' ')
            fputc(*text, out);
        while (begins && text[1] == ' ')
            text++;
    }
}

/* Writes each line of a text as a paragraph. */
static void put_paragraphs(FILE *out, const char *text)
{
    for (const char *end; *text; text = end) {
        size_t n = strcspn(text, "\n");
        end = text + n + (text[n] == '\n');
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        if (n)
            put_roff(out, line);
        else
            fputs(".PP", out);
        fputc('\n', out);
    }
}

/* Writes an option as a list item: its names, its value, and its help. */
static void put_option(FILE *out, const struct cr_option_about *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    put_roff(out, option->name);
    fputs("\\fR", out);
    if (*option->value) {
        fputs(" \\fI", out);
        put_roff(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_roff(out, option->help);
    fputc('\n', out);
}

static void put_title(FILE *out, const char *name)
{
    fprintf(out, ".\\\" Made by crescent help --man.\n.TH \"%s\" 1 \"\" \"crescent %s\" "
                 "\"User Commands\"\n.SH NAME\n", name, crescent_version());
}

static const char status_text[] = ".SH EXIT STATUS\n"
                                  "0: done; 1: a comparison failed; 2: the input is at fault, and one "
                                  "line on standard error says how; 3: Crescent is; 130: interrupted.\n";

/* Writes the manual page of a verb, from NAME to SEE ALSO. */
static void put_verb_page(FILE *out, const struct cr_verb *verb)
{
    char name[64];
    struct cr_option_about option;
    snprintf(name, sizeof name, "CRESCENT-%s", verb->name);
    for (char *c = name; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    put_title(out, name);
    fprintf(out, "crescent\\-%s \\- ", verb->name);
    put_roff(out, verb->summary);
    fprintf(out, "\n.SH SYNOPSIS\n\\fBcrescent %s\\fR ", verb->name);
    put_roff(out, verb->usage);
    fputs("\n.SH DESCRIPTION\n", out);
    put_roff(out, verb->summary);
    fputs(".\n", out);
    if (*verb->about)
        fputs(".PP\n", out);
    put_paragraphs(out, verb->about);
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; cr_option_of(verb, i, &option); i++)
        put_option(out, &option);
    fputs(".SH EXAMPLES\n.nf\n", out);
    put_roff(out, verb->examples + strspn(verb->examples, " "));
    fputs(".fi\n", out);
    fprintf(out, "%s.SH SEE ALSO\n\\fBcrescent\\fR(1)\n", status_text);
}

/* Writes the manual page of the program, with one line for each verb. */
static void put_program_page(FILE *out)
{
    const struct cr_verb *verb;
    put_title(out, "CRESCENT");
    fputs("crescent \\- compile transformers that Lua scripts describe to fused C\n"
          ".SH SYNOPSIS\n\\fBcrescent\\fR \\fIVERB\\fR \\fIMODEL\\fR [\\fIoptions\\fR]\n"
          ".SH DESCRIPTION\n"
          "Compiles a model to fused C and runs it, in memory by TinyCC, or writes the C as a file that "
          "needs nothing but a C compiler.\n"
          "\\fIMODEL\\fR is a Lua script that describes it, or a folder in Hugging Face's layout.\n"
          "A script that was installed is found by its name from anywhere, with graphs/ or without: gpt2_block.lua.\n"
          ".SH VERBS\n", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++) {
        fprintf(out, ".TP\n\\fB%s\\fR\n", verb->name);
        put_roff(out, verb->summary);
        fputc('\n', out);
    }
    fprintf(out, ".SH ENVIRONMENT\n.TP\n\\fBCRESCENT_PATH\\fR\nfolders that scripts, configurations and "
                 "models are looked for in, with colons between, before those that were installed\n"
                 ".TP\n\\fBCRESCENT_TARGET\\fR\nthe machine that loops are cut for where no \\-\\-target "
                 "names one, in place of a measurement of this machine\n"
                 "%s.SH SEE ALSO\n", status_text);
    for (int i = 0; (verb = cr_verb_at(i)); i++)
        fprintf(out, "%s\\fBcrescent\\-%s\\fR(1)", i ? ",\n" : "", verb->name);
    fputc('\n', out);
}

int cr_put_manual(FILE *out, const char *name, struct cr_error *error)
{
    const struct cr_verb *verb = name ? cr_verb_find(name, error) : NULL;
    if (name && !verb)
        return -1;
    if (verb)
        put_verb_page(out, verb);
    else
        put_program_page(out);
    return 0;
}

/* ---- completions ---- */

/* Writes a help text up to its first semicolon, without characters that are special to a shell. */
static void put_line(FILE *out, const char *text)
{
    for (; *text && *text != '\n' && *text != ';'; text++)
        if (!strchr("'\"`$\\[]:", *text))
            fputc(*text, out);
}

/* Writes the named values that options can have; an option has the same values in all verbs. */
static void put_bash_values(FILE *out)
{
    const struct cr_verb *all[32], *verb;
    struct cr_option_about option, other;
    char words[400];
    int n = 0;
    fputs("    [ \"$before\" != = ] || before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
          "    [ \"$word\" != = ] || word=\n"
          "    case \"$before\" in\n", out);
    for (; (verb = cr_verb_at(n)) && n < 32; n++) {
        all[n] = verb;
        for (int o = 0; cr_option_of(verb, o, &option); o++) {
            bool seen = false;
            for (int i = 0; i < n; i++)
                for (int p = 0; cr_option_of(all[i], p, &other); p++)
                    seen |= strcmp(other.name, option.name) == 0;
            if (!seen && *cr_option_values(words, sizeof words, option.name))
                fprintf(out, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); %s ;;\n", option.name,
                        words, option.file ? "[ ${#COMPREPLY[@]} -eq 0 ] || return" : "return");
        }
    }
    fputs("    esac\n", out);
}

/* Writes completions for bash: the first word is a verb; a word that begins with a hyphen is an
 * option of the verb; a word after an option with named values is one of these; any other word is
 * a file. */
static void put_bash(FILE *out)
{
    const struct cr_verb *verb;
    struct cr_option_about option;
    fputs("# Completions of crescent for bash.\n_crescent() {\n"
          "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" options=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++)
        fprintf(out, "%s ", verb->name);
    fputs("help --help --version' -- \"$word\"))\n        return\n    fi\n"
          "    case \"${COMP_WORDS[1]}\" in\n", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++) {
        fprintf(out, "    %s) options='", verb->name);
        for (int o = 0; cr_option_of(verb, o, &option); o++)
            fprintf(out, "%s--%s", o ? " " : "", option.name);
        fputs("' ;;\n", out);
    }
    fputs("    help) options='--man --completion", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++)
        fprintf(out, " %s", verb->name);
    fputs("'; COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return ;;\n    esac\n", out);
    put_bash_values(out);
    fputs("    case \"$word\" in\n"
          "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "    esac\n}\ncomplete -o filenames -F _crescent crescent\n", out);
}

/* Writes an option for _arguments of zsh: its help, its value and the possible values, separated
 * by colons. */
static void put_zsh_option(FILE *out, const struct cr_option_about *option)
{
    fprintf(out, "            '*--%s[", option->name);
    put_line(out, option->help);
    fputc(']', out);
    if (*option->value) {
        char words[400];
        fputc(':', out);
        put_line(out, option->value);
        if (*cr_option_values(words, sizeof words, option->name))
            fprintf(out, ":(%s)", words);
        else
            fputs(option->file ? ":_files" : ":", out);
    }
    fputs("' \\\n", out);
}

/* Writes completions for zsh, with a description of each verb and option. */
static void put_zsh(FILE *out)
{
    const struct cr_verb *verb;
    struct cr_option_about option;
    fputs("#compdef crescent\n# Completions of crescent for zsh.\n"
          "local -a verbs\nverbs=(\n", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++) {
        fprintf(out, "    '%s:", verb->name);
        put_line(out, verb->summary);
        fputs("'\n", out);
    }
    fputs(")\nif (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\nfi\n"
          "case ${words[2]} in\n", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++) {
        fprintf(out, "    %s)\n        shift words\n        (( CURRENT-- ))\n        _arguments \\\n",
                verb->name);
        for (int o = 0; cr_option_of(verb, o, &option); o++)
            put_zsh_option(out, &option);
        fputs("            '*:file:_files'\n        ;;\n", out);
    }
    fputs("esac\n", out);
}

/* Writes completions for fish: a line for each verb and each of its options. */
static void put_fish(FILE *out)
{
    const struct cr_verb *verb;
    struct cr_option_about option;
    fputs("# Completions of crescent for fish.\n", out);
    for (int i = 0; (verb = cr_verb_at(i)); i++) {
        fprintf(out, "complete -c crescent -f -n __fish_use_subcommand -a %s -d '", verb->name);
        put_line(out, verb->summary);
        fputs("'\n", out);
        for (int o = 0; cr_option_of(verb, o, &option); o++) {
            char words[400];
            fprintf(out, "complete -c crescent -n '__fish_seen_subcommand_from %s' -l %s%s", verb->name,
                    option.name, *option.value ? " -r" : "");
            if (*cr_option_values(words, sizeof words, option.name))
                fprintf(out, "%s -a '%s'", option.file ? "" : " -f", words);
            fputs(" -d '", out);
            put_line(out, option.help);
            fputs("'\n", out);
        }
    }
}

int cr_put_completion(FILE *out, const char *shell, struct cr_error *error)
{
    static const struct {
        const char *name;
        void (*put)(FILE *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (int i = 0; shell && i < 3; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].put(out);
            return 0;
        }
    return cr_fail(error, "--completion %.60s: expected bash, zsh or fish", shell ? shell : "");
}
