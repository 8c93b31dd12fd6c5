# signatures.awk - the functions of modules of graphs/lib: how each is called, what options it takes, what
# the comment before it says.
#
#     awk -f tests/signatures.awk graphs/lib/nn.lua ...
#
# Options are those that layer_options is called with: "number?" becomes `: number?`, {"number", 1} becomes
# `: number = 1`.  Tables of options that several functions share stand before them under their names.

# The text of lines from number i on, until its brackets are closed.
function balanced(i,    text, depth, at, c) {
    for (; i <= n; i++) {
        text = text (text == "" ? "" : " ") trim(lines[i])
        depth = 0
        for (at = 1; at <= length(text); at++) {
            c = substr(text, at, 1)
            if (c ~ /[({]/) depth++
            if (c ~ /[)}]/) depth--
        }
        if (depth <= 0) return text
    }
    return text
}

function trim(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

# The items of a list without its brackets; returns how many there are.
function items_of(text, items,    count, depth, at, c, item) {
    for (at = 1; at <= length(text); at++) {
        c = substr(text, at, 1)
        if (c ~ /[({]/) depth++
        if (c ~ /[)}]/) depth--
        if (c == "," && !depth) { items[++count] = trim(item); item = "" }
        else item = item c
    }
    if (trim(item) != "") items[++count] = trim(item)
    return count
}

function without_quotes(text) {
    gsub(/"/, "", text)
    return text
}

# `eps = "number?"` as "eps: number?".
function option(item,    name, type, two) {
    name = trim(substr(item, 1, index(item, "=") - 1))
    type = trim(substr(item, index(item, "=") + 1))
    if (type !~ /^\{/) return name ": " without_quotes(type)
    delete two
    items_of(substr(type, 2, length(type) - 2), two)
    return name ": " without_quotes(two[1]) " = " two[2]
}

# The options of a table, or its name.
function options_of(text,    items, count, i, list) {
    if (text !~ /^\{/) return text
    count = items_of(substr(text, 2, length(text) - 2), items)
    for (i = 1; i <= count; i++) list = list (i > 1 ? ", " : "") option(items[i])
    return "{" list "}"
}

# Prints a signature in lines of at most 100 letters.
function print_wrapped(text,    line, at) {
    while (length(text) > 100) {
        for (at = 100; at > 20 && substr(text, at - 1, 2) !~ /[,+] /; at--);
        print substr(text, 1, at - 1)
        text = "        " substr(text, at + 1)
    }
    print text
}

# The comment that ends in line i.
function print_comment(i,    first, line) {
    for (first = i; first > 0 && lines[first] ~ /^--/; first--);
    for (first++; first <= i; first++) {
        line = lines[first]
        sub(/^-- ?/, "", line)
        print (line == "" ? "" : "    " line)
    }
}

# What a call of layer_options says of parameters, into `checked`: those of positions have types, a table
# has options.
function read_call(call, checked,    arguments, m, i, types, t, parameter, all) {
    m = items_of(call, arguments)
    if (arguments[2] ~ /^\{/) {
        t = items_of(substr(arguments[3], 2, length(arguments[3]) - 2), types)
        for (i = 1; i <= t; i++) {
            parameter = option(types[i])
            checked[substr(parameter, 1, index(parameter, ":") - 1)] = parameter
        }
    } else {
        parameter = arguments[2]
        sub(/ or \{\}$/, "", parameter)
        for (i = 3; i <= m; i++) all = all (i > 3 ? " + " : "") options_of(arguments[i])
        checked[parameter] = parameter (arguments[2] ~ / or / ? "?" : "") ": " all
    }
}

# The parameters of the function that begins in line i, by the calls of layer_options in it.
function parameters_of(list, i, name,    names, count, checked, text) {
    delete checked
    for (i++; i <= n && lines[i] != "end"; i++)
        if (index(lines[i], "layer_options(\"" name "\"")) {
            text = balanced(i)
            sub(/^.*layer_options\(/, "", text)
            sub(/\)[^)]*$/, "", text)
            read_call(text, checked)
        }
    count = items_of(list, names)
    list = ""
    for (i = 1; i <= count; i++)
        list = list (i > 1 ? ", " : "") (names[i] in checked ? checked[names[i]] : names[i])
    return list
}

# Prints what a file has, whose lines were read.
function print_file(    i, name, list, text) {
    if (any++) print ""
    print "require \"" module "\""
    for (i = 1; lines[i + 1] ~ /^--/; i++);
    print_comment(i)
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^local [a-z_]+ = \{/) {
            name = lines[i]
            sub(/^local /, "", name)
            sub(/ = .*/, "", name)
            text = balanced(i)
            sub(/^[^{]*/, "", text)
            if (all_lines ~ ("layer_options\\([^)]*[ ,]" name "[,)]")) {
                print ""
                print_wrapped(name " = " options_of(text))
                print_comment(i - 1)
            }
        }
        if (lines[i] ~ /^function [a-z_0-9]+\.[a-z_0-9]+\(/) {
            name = substr(lines[i], 10, index(lines[i], "(") - 10)
            list = substr(lines[i], index(lines[i], "(") + 1)
            sub(/\).*$/, "", list)
            print ""
            print_wrapped(name "(" parameters_of(list, i, name) ")")
            printed++
            print_comment(i - 1)
        }
        if (lines[i] ~ ("^" module "\\.[a-z_]+ = [a-z_]+\\.[a-z_]+$")) print "\n" lines[i]
        if (lines[i] ~ ("^" module "\\.[a-z_]+ = \\{")) {
            name = lines[i]
            sub(/ = .*/, "", name)
            print "\n" name " = {...}"
            print_comment(i - 1)
        }
    }
}

FNR == 1 && NR > 1 { print_file(); n = 0; all_lines = "" }
FNR == 1 { module = FILENAME; sub(/^.*\//, "", module); sub(/\.lua$/, "", module) }
{ lines[++n] = $0; all_lines = all_lines " " trim($0) }
/^function / { functions++ }
END {
    print_file()
    if (printed != functions) {
        print "signatures.awk: found " printed " of " functions " functions" >"/dev/stderr"
        exit 1
    }
}
