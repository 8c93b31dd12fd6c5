/*
 * page.js - the report of crescent explain.
 *
 * The document (docs/explain.md) is one JSON object inside the page.  A Compilation is an index over
 * it; a Side shows one in four linked panes, a slider over the passes and a picture of the arena; the
 * App has one Side, or two side by side.  A list draws the rows that are seen and no others, and
 * hovering changes classes of those alone.
 */
"use strict";

/* ---- small tools ---- */

const KINDS = ["gemm", "attention", "attention_backward", "tile", "columns", "scatter", "scan", "write"];

function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name === "class") element.className = value;
        else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children.flat())
        if (child !== null && child !== undefined) element.append(child);
    return element;
}

function escapeHtml(text) {
    return String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
}

function digits(x, n = 3) {
    return x === 0   ? "0" :
        x >= 10 ** n ? Math.round(x).toLocaleString("en-US") :
                       String(Number(x.toPrecision(n)));
}

function inUnits(x, base, units) {
    let i = 0;
    while (Math.abs(x) >= base * .9995 && i + 1 < units.length) {
        x /= base;
        i++;
    }
    return [digits(x), units[i]];
}

const timeOf = ns => inUnits(ns, 1000, ["ns", "µs", "ms", "s"]).join(" ");
const bytesOf = b => inUnits(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]).join(" ");
const countOf = (n, unit = "") => {
    const [x, u] = inUnits(n, 1000, ["", "k", "M", "G", "T", "P"]);
    return x + " " + u + unit;
};
const percent = x => (100 * x).toFixed(x < .0995 ? 1 : 0) + "%";
const colour = kind => `--c:var(--k-${KINDS.includes(kind) ? kind : "write"})`;
/* "f32[1, 8, 768]": how many elements, and the sizes alone. */
const sizesOf = shape => shape.slice(shape.indexOf("[") + 1, -1).split(",").map(Number);
const elementsOf = shape => shape.endsWith("[]") ? 1 : sizesOf(shape).reduce((a, b) => a * b, 1);
const shortShape = shape => {
    const sizes = shape.endsWith("[]") ? "1" : sizesOf(shape).join("×");
    return shape.startsWith("f32") ? sizes : shape.slice(0, shape.indexOf("[")) + " " + sizes;
};
const grade = share => share >= .7 ? "good" : share >= .4 ? "fair" : "poor";
const sum = list => list.reduce((a, b) => a + b, 0);

/* ---- words of a language, in colour ---- */

const LUA =
    /(--.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while)\b|\b(\d[\w.]*)\b|([A-Za-z_]\w*)(?=\s*[({"])/g;
const C =
    /(\/\*.*?(?:\*\/|$)|^ \*.*$)|("(?:[^"\\]|\\.)*")|\b(const|static|struct|for|if|else|return|void|long|int|float|while)\b|\b(\d[\w.]*)\b|((?:rt->)?[A-Za-z_]\w*)(?=\()/g;

function coloured(text, pattern) {
    let out = "", at = 0;
    for (const m of text.matchAll(pattern)) {
        const kind = m[1] !== undefined ? "c" :
            m[2] !== undefined          ? "s" :
            m[3] !== undefined          ? "k" :
            m[4] !== undefined          ? "n" :
                                          "f";
        out += escapeHtml(text.slice(at, m.index)) + `<span class="${kind}">${escapeHtml(m[0])}</span>`;
        at = m.index + m[0].length;
    }
    return out + escapeHtml(text.slice(at));
}

/* The name of the function that begins in a line of Lua, or "". */
function definedIn(text) {
    const m = /^\s*(?:local\s+)?(?:function\s+([\w.:]+)|([\w.]+)\s*=\s*function\b)/.exec(text || "");
    return m ? m[1] || m[2] : "";
}

/* ---- the document, indexed ---- */

/* Columns but the ops are written as runs, and operands as distances. */
function unpack(graph) {
    for (const name of ["shape", "scope", "line", "library", "name", "attribute", "backward"]) {
        const column = new Int32Array(graph.nodes);
        for (let i = 0, id = 0; i < graph[name].length; i += 2)
            column.fill(graph[name][i], id, id += graph[name][i + 1]);
        graph[name] = column;
    }
    graph.operands = graph.operands.map((distances, id) => distances.map(distance => id - distance));
}

class Compilation {
    constructor(doc) {
        this.doc = doc;
        this.tables = doc.tables;
        doc.graphs.forEach(unpack);
        this.last = doc.graphs.length - 1;
        this.graph = doc.graphs[this.last];
        this.kernels = doc.kernels.map(k => ({...k, kind: k.kind.replaceAll(" ", "_")}));
        this.calls = doc.calls;
        this.indexCalls();
        this.indexLines();
        this.indexC();
        this.rankKernels();
    }

    /* Which calls compute a node, and where it stands among the nodes of a kernel's first call. */
    indexCalls() {
        this.callsOf = Array.from({length: this.graph.nodes}, () => []);
        this.callsOfKernel = this.kernels.map(() => []);
        this.calls.forEach((call, i) => {
            this.callsOfKernel[call.kernel].push(i);
            for (const node of call.nodes) this.callsOf[node].push(i);
        });
        this.storedBy = new Map(
            this.calls.flatMap((call, i) => (call.stores || [call.root]).map(id => [id, i])));
    }

    /* Nodes by line: of the script, and of a library. */
    indexLines() {
        this.nodesOfLine = this.tables.lines.map(() => []);
        for (let id = 0; id < this.graph.nodes; id++)
            for (const line of this.linesOf(id)) this.nodesOfLine[line].push(id);
    }

    linesOf(id, graph = this.graph) {
        const a = graph.line[id], b = graph.library[id];
        return b >= 0 && b !== a ? [b, a].filter(x => x >= 0) : a >= 0 ? [a] : [];
    }

    /* By line of C, from 1: its kernel, and the node of the kernel's first call. */
    indexC() {
        const n = this.doc.c.lines.length + 1;
        this.kernelOfC = new Int32Array(n).fill(-1);
        this.nodeOfC = new Int32Array(n).fill(-1);
        this.spanOfKernel = this.kernels.map(() => null);
        const fill = (array, [first, last, value]) => {
            for (let i = first; i <= last; i++) array[i] = value;
        };
        for (const span of this.doc.c.kernels) {
            fill(this.kernelOfC, span);
            this.spanOfKernel[span[2]] = span;
        }
        for (const span of this.doc.c.steps) fill(this.kernelOfC, span);
        for (const span of this.doc.c.nodes) fill(this.nodeOfC, span);
    }

    /* A node of any call, as the node in the same place of the kernel's first call. */
    inFirstCall(id, call) {
        const first = this.calls[this.kernels[this.calls[call].kernel].first_call];
        const nodes = this.calls[call].nodes;
        return first.nodes.length === nodes.length ? first.nodes[nodes.indexOf(id)] : id;
    }

    /* By time, or where nothing was measured by work. */
    rankKernels() {
        const bench = this.doc.bench;
        this.time = this.kernels.map((k, i) => bench ? bench.kernels[i].median_ns : 0);
        this.limit = this.kernels.map(
            (k, i) => bench ? Math.max(bench.kernels[i].flops_ns, bench.kernels[i].memory_ns) : 0);
        const work = k => k.calls * k.flops || k.calls * (k.bytes_read + k.bytes_written) * 1e-6;
        this.weight = bench ? this.time : this.kernels.map(work);
        this.total = sum(this.weight) || 1;
        this.ranked = this.kernels.map((k, i) => i).sort((a, b) => this.weight[b] - this.weight[a]);
        this.heat = new Float64Array(this.tables.lines.length);
        this.kernels.forEach((k, i) => {
            for (const line of this.linesOf(this.calls[k.first_call].main))
                this.heat[line] += this.weight[i] / this.total;
        });
        if (this.doc.check) this.countRoundings();
        this.error = this.kernels.map((k, i) => this.errorOf(this.callsOfKernel[i]));
    }

    /*
     * By call, how many operations lie on the way to an element, each of which rounds: its own, and
     * those of the operand that has most.  Roundings are as often up as down: n of them add to about the
     * square root of n.  The worst of many elements has a multiple of that, and exp makes it more: up to
     * eight times is called usual.  A wrong kernel has millions.
     */
    countRoundings() {
        const {shapes} = this.tables;
        this.roundings = [];
        this.calls.forEach((call, i) => {
            const earlier = call.reads.map(id => this.storedBy.get(id)).filter(from => from < i);
            const inherited = Math.max(0, ...earlier.map(from => this.roundings[from]));
            this.roundings[i] = inherited +
                this.kernels[call.kernel].flops / elementsOf(shapes[this.graph.shape[call.root]]);
        });
    }

    /* Whether an error is usual, in words and as a grade. */
    judge(error) {
        const ulp = error.max_ulp ?? Infinity, {format, arithmetic} = this.doc.model;
        const usual = Math.max(32, 8 * Math.sqrt(error.roundings)), limit = digits(usual, 2) + " ulp";
        const reason =
            `${digits(error.roundings)} roundings to f32, one after another, give up to about ${limit}`;
        if (ulp === Infinity) return {grade: "poor", short: "unusual", text: "unusual: NaN or infinity"};
        if (ulp <= usual) return {grade: "good", short: "usual", text: `usual: ${reason}`};
        if ((format || arithmetic) && ulp < 2 ** 20)
            return {
                grade: "fair",
                short: "narrow numbers",
                text: `usual for ${format || arithmetic}, whose numbers are rounded more; in f32 ${reason}`
            };
        return {
            grade: ulp > 16 * usual ? "poor" : "fair",
            short: "more than usual",
            text: `more than usual: ${reason}; sums whose terms cancel give more`
        };
    }

    /* The worst of some calls, or null. */
    errorOf(calls) {
        const at = call => this.doc.check[call] && {...this.doc.check[call], roundings: this.roundings[call]};
        const known = (this.doc.check ? calls.map(at) : []).filter(x => x);
        if (!known.length) return null;
        return known.reduce((a, b) => (b.max_ulp ?? Infinity) > (a.max_ulp ?? Infinity) ? b : a);
    }

    /* The most telling line of a kernel: the library's where there is one, and the script's. */
    mainLines(kernel) { return this.linesOf(this.calls[this.kernels[kernel].first_call].main); }

    lineText(line) {
        const [file, number] = this.tables.lines[line];
        const source = this.doc.sources[file];
        return source ? (source[number - 1] || "").trim() : "";
    }

    lineName(line, short) {
        const [file, number] = this.tables.lines[line];
        const path = this.tables.files[file];
        return (short ? path.split("/").pop() : path) + ":" + number;
    }

    isBackward(kernel) { return !!this.graph.backward[this.calls[this.kernels[kernel].first_call].root]; }

    /* What else is meant when a kernel, a call, a node, a line of Lua or of C is. */
    selectKernel(kernel, call = this.kernels[kernel].first_call) {
        const nodes = new Set(this.calls[call].nodes), lines = new Set();
        for (const id of nodes)
            for (const line of this.linesOf(id)) lines.add(line);
        const c = new Set();
        for (let i = 1; i < this.kernelOfC.length; i++)
            if (this.kernelOfC[i] === kernel) c.add(i);
        const main = this.calls[call].main;
        return {
            kind: "kernel",
            kernels: new Set([kernel]),
            nodes,
            lines,
            c,
            call,
            mainKernel: kernel,
            mainNode: main,
            mainLines: new Set(this.linesOf(main)),
            mainC: new Set([this.spanOfKernel[kernel][0]])
        };
    }

    selectNodes(ids) {
        const kernels = new Set(), lines = new Set(), inC = new Set(), c = new Set();
        for (const id of ids) {
            for (const line of this.linesOf(id)) lines.add(line);
            for (const call of this.callsOf[id]) {
                kernels.add(this.calls[call].kernel);
                inC.add(this.inFirstCall(id, call));
            }
        }
        for (let i = 1; i < this.nodeOfC.length; i++)
            if (this.nodeOfC[i] >= 0 && inC.has(this.nodeOfC[i])) c.add(i);
        if (!c.size)
            for (const kernel of kernels)
                for (let i = this.spanOfKernel[kernel][0]; i <= this.spanOfKernel[kernel][1]; i++) c.add(i);
        return {
            kind: "nodes",
            kernels,
            nodes: new Set(ids),
            lines,
            c,
            mainLines: new Set(),
            mainC: new Set()
        };
    }

    selectNode(id) {
        const s = this.selectNodes([id]);
        s.mainNode = id;
        s.call = this.callsOf[id].length ? this.callsOf[id][0] : undefined;
        s.mainKernel = s.call === undefined ? undefined : this.calls[s.call].kernel;
        return s;
    }

    selectLine(line) {
        const s = this.selectNodes(this.nodesOfLine[line]);
        s.mainLines = new Set([line]);
        s.kind = "line";
        const heaviest = [...s.kernels].sort((a, b) => this.weight[b] - this.weight[a])[0];
        s.mainKernel = heaviest;
        s.mainNode = this.nodesOfLine[line][0];
        return s;
    }

    /* A row of Lua from which no node comes, or the nodes of the lines below it: of a function's body. */
    selectRow(row, lines) {
        const ids = new Set(lines.flatMap(line => this.nodesOfLine[line])), s = this.selectNodes([...ids]);
        s.kind = "line";
        s.mainRow = row;
        s.mainNode = ids.size ? Math.min(...ids) : undefined;
        s.mainKernel = [...s.kernels].sort((a, b) => this.weight[b] - this.weight[a])[0];
        return s;
    }

    selectC(row) {
        const node = this.nodeOfC[row], kernel = this.kernelOfC[row];
        if (kernel < 0 && node < 0) return null;
        const s = node >= 0 ? this.selectNode(node) : this.selectKernel(kernel);
        if (kernel >= 0) {
            s.mainKernel = kernel;
            s.kernels.add(kernel);
        }
        s.mainC = new Set([row]);
        return s;
    }
}

/* ---- a list that draws what is seen ---- */

class List {
    constructor(label, rowHeight, draw, onRow) {
        this.height = rowHeight;
        this.draw = draw;
        this.count = 0;
        this.pool = [];
        this.version = 0;
        this.cursor = -1;
        this.inner = make("div", {class: "inner"});
        this.element =
            make("div", {class: "list", tabindex: "0", role: "listbox", "aria-label": label}, this.inner);
        this.element.addEventListener("scroll", () => this.later(), {passive: true});
        const rowOf = event => {
            const row = event.target.closest(".r");
            return row ? row.index : -1;
        };
        let under = -1;
        this.element.addEventListener("pointermove", event => {
            const i = rowOf(event);
            if (i === under) return;
            under = i;
            onRow("hover", i, event);
        }, {passive: true});
        this.element.addEventListener("pointerleave", event => {
            under = -1;
            onRow("hover", -1, event);
        });
        this.element.addEventListener("click", event => {
            const i = rowOf(event);
            if (i >= 0) {
                this.cursor = i;
                onRow("click", i, event);
            }
        });
        this.element.addEventListener("keydown", event => this.key(event, onRow));
    }

    /* Arrows move a cursor, whose row is hovered; Enter is a click. */
    key(event, onRow) {
        const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
        const step = {
            ArrowDown: 1,
            ArrowUp: -1,
            PageDown: page,
            PageUp: -page,
            Home: -Infinity,
            End: Infinity
        }[event.key];
        if (step !== undefined && this.count) {
            const from = this.cursor < 0 ?
                Math.floor(this.element.scrollTop / this.height) - Math.sign(step) :
                this.cursor;
            this.cursor = Math.min(this.count - 1, Math.max(0, from + step));
            this.show(this.cursor, false);
            onRow("hover", this.cursor, event);
            this.refresh();
        } else if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0) {
            onRow("click", this.cursor, event);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    setCount(count, widest) {
        this.count = count;
        this.inner.style.height = count * this.height + "px";
        this.inner.style.width = widest ? widest + "ch" : "";
        if (this.cursor >= count) this.cursor = -1;
        this.refresh();
    }

    refresh() {
        this.version++;
        this.later();
    }

    later() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.update();
        });
    }

    /* Row i is drawn by element i modulo the number of elements, so that scrolling moves few. */
    update() {
        const seen = this.element.clientHeight;
        if (!seen) return;
        const n = Math.min(this.count, Math.ceil(seen / this.height) + 4);
        const first =
            Math.max(0, Math.min(this.count - n, Math.floor(this.element.scrollTop / this.height) - 2));
        if (this.pool.length !== n) {
            while (this.pool.length > n) this.pool.pop().remove();
            while (this.pool.length < n) {
                const row = make("div");
                row.index = -1;
                this.pool.push(row);
                this.inner.append(row);
            }
            for (const row of this.pool) row.index = -1;
        }
        for (let i = first; i < first + n; i++) {
            const row = this.pool[i % n];
            if (row.index === i && row.version === this.version) continue;
            if (row.index !== i || row.content !== this.content) {
                row.index = i;
                row.content = this.content;
                row.style.top = i * this.height + "px";
                row.drawn = null;
            }
            row.version = this.version;
            this.draw(i, row);
            row.classList.toggle("cursor", i === this.cursor && document.activeElement === this.element);
        }
    }

    /* Other rows from now on. */
    replace(count, widest) {
        this.content = (this.content || 0) + 1;
        this.setCount(count, widest);
    }

    show(i, centre = true) {
        if (i < 0) return;
        if (centre) this.element.scrollLeft = 0;
        const top = i * this.height, seen = this.element.clientHeight, at = this.element.scrollTop;
        if (centre && (top < at + this.height || top > at + seen - 3 * this.height))
            this.element.scrollTop = Math.max(0, top - seen / 3);
        else if (top < at) this.element.scrollTop = top;
        else if (top + this.height > at + seen) this.element.scrollTop = top + this.height - seen;
    }
}

/* Sets the classes of a row only where they are others, and its content only once. */
function dress(row, classes, html) {
    if (row.drawn !== html) {
        row.innerHTML = html;
        row.drawn = html;
    }
    if (row.className !== classes) row.className = classes;
}

/* ---- rows of a graph: scopes, folded layers, nodes ---- */

function layerOf(scope) {
    const m = /^(.*?)(?:^|\.)(\d+)(?=\.|$)/.exec(scope);
    return m ? {prefix: m[1], index: Number(m[2]), rest: scope.slice(m[0].length)} : null;
}

class GraphRows {
    constructor(compilation) {
        this.compilation = compilation;
        this.open = new Set();
        this.chosen = new Map();
    }

    /* Runs of nodes of one layer, or of none.  Constants that layers share stand where they were first
     * needed, so that they do not tell layers apart. */
    runsOf(graph) {
        const {scopes, ops} = this.compilation.tables, layers = scopes.map(layerOf), runs = [];
        const leaf = ops.map(op => op === "const" || op === "iota" || op === "literal");
        for (let id = 0; id < graph.nodes; id++) {
            const layer = layers[graph.scope[id]];
            const key = layer ? `${layer.prefix}\t${layer.index}\t${graph.backward[id]}` : graph.backward[id];
            let run = runs[runs.length - 1];
            if (!run || run.key !== key)
                runs.push(run = {key, layer, backward: graph.backward[id], nodes: [], sign: []});
            run.nodes.push(id);
            if (layer && !leaf[graph.op[id]])
                run.sign.push(graph.op[id] + ":" + graph.shape[id] + ":" + layer.rest);
        }
        return runs;
    }

    /* Whether one layer has all that the other has, in its order, and little else: what layers share, such as
     * a mask, stands in the first of them. */
    areAlike(a, b) {
        if (a === b) return true;
        const [less, more] = a.length < b.length ? [a, b] : [b, a];
        if (more.length - less.length > Math.max(4, more.length / 5)) return false;
        let i = 0;
        for (const item of more)
            if (i < less.length && item === less[i]) i++;
        return i === less.length;
    }

    /* Neighbours that are alike become one group. */
    groupsOf(graph) {
        const groups = [];
        for (const run of this.runsOf(graph)) {
            const last = groups[groups.length - 1];
            if (last && run.layer && last.runs[0].layer &&
                this.areAlike(last.runs[last.runs.length - 1].sign, run.sign) &&
                last.runs[0].layer.prefix === run.layer.prefix && last.runs[0].backward === run.backward)
                last.runs.push(run);
            else groups.push({runs: [run]});
        }
        return groups;
    }

    /* Where a node that is gone is shown: behind those of its scope, forward and backward apart. */
    placeOf(graph, id) { return 2 * graph.scope[id] + graph.backward[id]; }

    /* All rows of a graph after a pass; `changes` are sets of nodes, by what became of them. */
    build(graph, changes, onlyChanges) {
        const rows = [], removed = new Map();
        for (const id of changes.removed) {
            const place = this.placeOf(changes.before, id);
            if (!removed.has(place)) removed.set(place, []);
            removed.get(place).push(id);
        }
        this.graph = graph;
        this.groupOf = new Int32Array(graph.nodes);
        this.groups = this.groupsOf(graph);
        this.groups.forEach((group, g) => {
            for (const run of group.runs)
                for (const id of run.nodes) this.groupOf[id] = g;
            this.addGroup(rows, group, g, changes, removed, onlyChanges);
        });
        for (const [place, ids] of removed) {
            rows.push({type: "scope", scope: place >> 1});
            for (const id of ids) rows.push({type: "node", id, gone: true});
        }
        this.rows = rows;
        this.rowOf = new Map();
        rows.forEach((row, i) => {
            if (row.type === "node" && !row.gone) this.rowOf.set(row.id, i);
        });
        return rows;
    }

    addGroup(rows, group, g, changes, removed, onlyChanges) {
        const many = group.runs.length > 1, open = this.open.has(g);
        const chosen = many && !open ?
            [group.runs[Math.min(this.chosen.get(g) || 0, group.runs.length - 1)]] :
            group.runs;
        const start = rows.length;
        if (many) rows.push({type: "fold", group: g, runs: group.runs, open, at: this.chosen.get(g) || 0});
        let count = 0;
        for (const run of chosen) count += this.addRun(rows, run, changes, removed, onlyChanges);
        for (const run of group.runs)
            if (!chosen.includes(run))
                for (const id of run.nodes) removed.delete(this.placeOf(this.graph, id));
        if (onlyChanges && !count) rows.length = start;
    }

    addRun(rows, run, changes, removed, onlyChanges) {
        let scope = -1, count = 0;
        const flush = () => {
            const place = 2 * scope + run.backward;
            for (const id of removed.get(place) || []) {
                rows.push({type: "node", id, gone: true});
                count++;
            }
            removed.delete(place);
        };
        for (const id of run.nodes) {
            const changed = changes.added.has(id) || changes.rewired.has(id);
            if (this.graph.scope[id] !== scope) {
                if (scope >= 0) flush();
                if (onlyChanges && rows.length && rows[rows.length - 1].type === "scope") rows.pop();
                scope = this.graph.scope[id];
                rows.push({type: "scope", scope});
            }
            if (onlyChanges && !changed) continue;
            rows.push({type: "node", id});
            count++;
        }
        flush();
        if (onlyChanges && rows.length && rows[rows.length - 1].type === "scope") rows.pop();
        return count;
    }

    /* Makes sure that a node has a row: its layer becomes the one that is shown.  True if rows change. */
    choose(id) {
        if (this.rowOf.has(id)) return false;
        const group = this.groups[this.groupOf[id]];
        if (!group) return false;
        const i = group.runs.findIndex(run => run.nodes.includes(id));
        if (i < 0 || group.runs.length < 2 || this.chosen.get(this.groupOf[id]) === i) return false;
        this.chosen.set(this.groupOf[id], i);
        return true;
    }
}

/* ---- the drawing: what the model is made of, from top to bottom ---- */

/* The number of its pane, which stands first. */
const MODEL_PANE = 4;
const modelFirst = list => [list[MODEL_PANE], ...list.slice(0, MODEL_PANE)];

/*
 * Blocks, one below the other: a layer, which stands for all that are like it, or what lies between layers.
 * A block has parts: what one scope does, or one line without a scope of its own.  A part hands its value to
 * the next one; a line on the left leads to a part from an earlier one, such as around what is added to it.
 */
class Drawing {
    constructor(side) {
        this.side = side;
        this.data = side.data;
        this.graph = side.data.graph;
        this.partOfNode = new Int32Array(this.graph.nodes).fill(-1);
        this.parts = [];
        this.elements = [];
        this.element = make("div", {class: "list model", tabindex: "0", "aria-label": "the model"});
        this.functions = new Map();
        this.markConstants();
        const groups = new GraphRows(this.data).groupsOf(this.graph);
        const layers = groups.map(group => group.runs[0].layer).filter(layer => layer && layer.prefix);
        this.around = layers.length ? layers[0].prefix.split(".").slice(0, -1).join(".") : "";
        this.element.append(this.ports(["input", "state"]));
        for (const group of groups) this.addGroup(group);
        this.element.append(this.outputs());
        this.element.addEventListener("click", event => this.onClick(event));
        this.element.addEventListener("pointerover", event => this.onHover(event));
        this.element.addEventListener("pointerleave", () => this.side.hover(null));
    }

    /* Masks and positions, which do not depend on inputs and parameters, are no part, unless a kernel
     * is for them. */
    markConstants() {
        const {graph, data} = this, mains = new Set(data.calls.map(call => call.main));
        this.skipped = new Uint8Array(graph.nodes);
        this.leaf = new Uint8Array(graph.nodes);
        for (let id = 0; id < graph.nodes; id++) {
            const operands = graph.operands[id], op = data.tables.ops[graph.op[id]];
            this.leaf[id] = operands.length === 0 && !mains.has(id);
            this.skipped[id] = !mains.has(id) &&
                (operands.length ? operands.every(o => this.skipped[o]) :
                                   !["param", "input", "state"].includes(op));
        }
    }

    /* The name of the function of the file in which a line is, or "". */
    functionOf(line) {
        if (line < 0) return "";
        if (this.functions.has(line)) return this.functions.get(line);
        const [file, number] = this.data.tables.lines[line], source = this.data.doc.sources[file] || [];
        let at = number - 1, name = "";
        while (at >= 0 && !name && !(at < number - 1 && /^end\b/.test(source[at]))) {
            if (/^\S/.test(source[at] || "")) name = definedIn(source[at]);
            at--;
        }
        this.functions.set(line, name);
        return name;
    }

    /* The first word of a node's scope below its layer, or below what is around all layers; and by what the
     * node is told apart from the one before. */
    placeOf(id, layer) {
        const {graph, around} = this, scope = this.data.tables.scopes[graph.scope[id]];
        const below = layer           ? layerOf(scope).rest.replace(/^\./, "") :
            scope === around          ? "" :
            scope.startsWith(around + ".") ? scope.slice(around.length + 1) :
                                             scope;
        const name = below.split(".")[0], made = this.functionOf(graph.library[id]);
        return {name, key: name || `${graph.line[id]} ${made}`};
    }

    /* Nodes one after another that are in one place. */
    partsOf(run) {
        const parts = [];
        for (const id of run.nodes) {
            if (this.leaf[id] || this.skipped[id]) continue;
            const {name, key} = this.placeOf(id, run.layer), last = parts[parts.length - 1];
            if (last && last.key === key) last.nodes.push(id);
            else parts.push({name, key, nodes: [id], backward: run.backward, times: 1});
        }
        return parts;
    }

    /* Neighbours of the same operations and shapes become one, as the updates of many parameters. */
    fold(parts) {
        const {graph} = this, out = [];
        for (const part of parts) {
            const sign = part.nodes.map(id => graph.op[id] + ":" + graph.shape[id]).join();
            const last = out[out.length - 1];
            if (last && last.sign === sign && parts.length > 12) {
                last.times++;
                last.others.push(part);
            } else out.push(Object.assign(part, {sign, others: []}));
        }
        return out;
    }

    addGroup(group) {
        const parts = this.fold(this.partsOf(group.runs[0]));
        if (!parts.length) return;
        const from = this.parts.length;
        for (const part of parts) {
            for (const same of [part, ...part.others])
                for (const id of same.nodes) this.partOfNode[id] = this.parts.length;
            this.parts.push(part);
        }
        for (const run of group.runs.slice(1)) this.addLike(run, from, parts);
        this.drawBlock(group, parts, from);
    }

    /* A layer like the one that is drawn: its parts are those, in their order. */
    addLike(run, from, parts) {
        let at = 0;
        for (const part of this.partsOf(run)) {
            const found = parts.findIndex((p, i) => i >= at && p.key === part.key);
            if (found < 0) continue;
            for (const id of part.nodes) this.partOfNode[id] = from + found;
            at = found + 1;
        }
    }

    /* Which earlier parts of the block a part takes values from; -1: what was before the block. */
    sourcesOf(part, from) {
        const sources = new Set();
        const isParam = id => this.leaf[id] && this.data.tables.ops[this.graph.op[id]] === "param";
        for (const id of part.nodes)
            for (const o of this.graph.operands[id])
                if (!this.skipped[o] && !isParam(o)) sources.add(Math.max(-1, this.partOfNode[o] - from));
        return sources;
    }

    drawBlock(group, parts, from) {
        const {layer} = group.runs[0], n = group.runs.length, block = make("div", {class: "block"});
        if (layer) {
            block.classList.add("layer");
            if (n > 1) block.classList.add("many");
            const name = (layer.prefix ? layer.prefix + "." : "") + layer.index;
            block.append(make(
                "h3", {},
                make(
                    "span", {}, n > 1 ? `${name} … ${group.runs[n - 1].layer.index}` : name,
                    group.runs[0].backward ? " ∂" : ""),
                n > 1 ? make("b", {}, "× " + n) : null));
        }
        const rows = [];
        let top = layer ? 34 : 8;
        parts.forEach((part, i) => {
            const sources = this.sourcesOf(part, from), element = this.drawPart(part, from + i);
            const height = part.name ? 44 : 26;
            if (i && sources.has(i - 1)) element.classList.add("flows");
            rows.push({top, height, sources});
            top += height + 10;
            block.append(element);
        });
        if (!group.runs[0].backward) block.append(this.drawLanes(rows, top));
        this.element.append(block);
    }

    /* Lines from a part, or from the top of the block, to a part that is not the next one; in the first lane
     * that is free there, of three. */
    drawLanes(rows, height) {
        const lanes = [[], [], []], paths = [];
        rows.forEach(({top, sources, height: h}, to) => {
            for (const from of sources) {
                if (from === to || from === to - 1) continue;
                const a = from < 0 ? 0 : rows[from].top + rows[from].height / 2 + 4, b = top + h / 2 - 3;
                const lane = lanes.findIndex(spans => spans.every(([x, y]) => b <= x || a >= y));
                if (lane < 0) continue;
                lanes[lane].push([a, b]);
                const x = 16 - 5 * lane;
                paths.push(
                    (from < 0 ? `M${x} ${a}` : `M22 ${a}H${x + 3}Q${x} ${a} ${x} ${a + 3}`) +
                    `V${b - 3}Q${x} ${b} ${x + 3} ${b}H21m-3-2.5l3 2.5l-3 2.5`);
            }
        });
        const box = make("div", {class: "lanes"});
        box.innerHTML =
            `<svg width="24" height="${height}" aria-hidden="true"><path d="${paths.join("")}"/></svg>`;
        return box;
    }

    /* Its kernels, in the order of their calls, each with a call. */
    kernelsOf(part) {
        const found = new Map();
        for (const id of part.nodes)
            for (const call of this.data.callsOf[id])
                if (!found.has(this.data.calls[call].kernel)) found.set(this.data.calls[call].kernel, call);
        return found;
    }

    drawPart(part, i) {
        const {graph, data} = this, {tables} = data, last = part.nodes[part.nodes.length - 1];
        const functions = new Set(
            part.nodes.map(id => this.functionOf(graph.library[id]).split(/[.:]/).pop()).filter(f => f));
        const ops = new Set(part.nodes.map(id => tables.ops[graph.op[id]]));
        const words = [...(functions.size && part.name ? functions : ops)].join(" · ");
        const title = part.name || [...(functions.size ? functions : ops)].join(" · ");
        const kernels = this.kernelsOf(part), shape = tables.shapes[graph.shape[last]];
        const mains = [...kernels.keys()].filter(
            k => part.nodes.includes(data.calls[data.kernels[k].first_call].main));
        const heat = sum(mains.map(k => data.weight[k] / data.total));
        const scope = tables.scopes[graph.scope[part.nodes[0]]];
        const most = 3;
        const isStored = ([k, call]) => part.nodes.some(id => data.storedBy.get(id) === call);
        const shown = part.name ? [...kernels] : [...kernels].filter(isStored);
        const chips = shown.slice(0, most).map(
            ([k, call]) => make(
                "span", {
                    class: "badge",
                    style: colour(data.kernels[k].kind),
                    "data-kernel": k,
                    "data-call": call
                },
                data.kernels[k].name.split("_")[0]));
        if (shown.length > most) chips.push(make("span", {class: "shape"}, "+" + (shown.length - most)));
        const element = make(
            "button", {
                class: "part" + (part.name ? "" : " op") + (part.backward ? " backward" : ""),
                type: "button",
                "data-part": i,
                title: `${scope || title}: ${[...ops].join(", ")}\n${shape}\n${
                    [...kernels.keys()].map(k => data.kernels[k].name).join(", ")}`
            },
            make(
                "span", {class: "line"},
                make(
                    "span", {class: "name"}, title, part.backward ? " ∂" : "",
                    part.times > 1 ? make("b", {}, " × " + part.times) : null),
                part.name ? null : chips, make("span", {class: "shape"}, shortShape(shape))),
            part.name ? make("span", {class: "line"}, make("span", {class: "made"}, words), chips) : null,
            heat > .0005 ? make(
                               "i", {
                                   style: `width:${Math.max(2, 100 * heat)}%`,
                                   title: `${percent(heat)} of the ${data.doc.bench ? "time" : "work"}`
                               }) :
                           null);
        this.elements.push(element);
        return element;
    }

    port(name, shape, id) {
        return make(
            "button", {class: "port", type: "button", "data-node": id}, make("b", {}, name), " ",
            shortShape(shape));
    }

    /* A row of what goes in or comes out; of many the first. */
    portRow(ports) {
        const most = 6;
        return make(
            "div", {class: "ports"}, ports.slice(0, most),
            ports.length > most ? make("span", {class: "muted"}, `${ports.length - most} more`) : null);
    }

    ports(ops) {
        const {graph, data} = this, {tables} = data, found = [];
        for (let id = 0; id < graph.nodes; id++)
            if (ops.includes(tables.ops[graph.op[id]]))
                found.push(
                    this.port(tables.texts[graph.name[id]] || "", tables.shapes[graph.shape[id]], id));
        return this.portRow(found);
    }

    outputs() {
        const {graph, data} = this;
        return this.portRow(
            data.doc.outputs.map(o => this.port(o.name, data.tables.shapes[graph.shape[o.node]], o.node)));
    }

    /* ---- what is clicked, and what is lit ---- */

    /* A part, with the heaviest of its kernels; a kernel; what goes in or comes out. */
    selectionOf(target) {
        const chip = target.closest("[data-kernel]"), part = target.closest("[data-part]"),
              port = target.closest("[data-node]"), {data} = this;
        if (chip) return data.selectKernel(Number(chip.dataset.kernel), Number(chip.dataset.call));
        if (port) return data.selectNode(Number(port.dataset.node));
        if (!part) return null;
        const {nodes} = this.parts[Number(part.dataset.part)], s = data.selectNodes(nodes);
        const calls = [...this.kernelsOf({nodes}).values()];
        calls.sort((a, b) => data.weight[data.calls[b].kernel] - data.weight[data.calls[a].kernel]);
        const own = calls.find(call => nodes.includes(data.calls[call].main)), call = own ?? calls[0];
        s.call = call;
        s.mainKernel = call === undefined ? undefined : data.calls[call].kernel;
        s.mainNode = own === undefined ? nodes[nodes.length - 1] : data.calls[own].main;
        return s;
    }

    onClick(event) {
        const s = this.selectionOf(event.target);
        if (s) this.side.select(s, true, "model");
    }

    onHover(event) {
        const key = event.target.closest("[data-kernel], [data-part], [data-node]");
        if (key === this.under) return;
        this.under = key;
        this.side.hover(key ? this.selectionOf(key) : null);
    }

    refresh() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.update();
        });
    }

    /* The parts of a selection; the one of its main node. */
    marked(s) {
        const all = new Set();
        if (s)
            for (const id of s.nodes)
                if (this.partOfNode[id] >= 0) all.add(this.partOfNode[id]);
        return {all, main: s && s.mainNode !== undefined ? this.partOfNode[s.mainNode] : -1};
    }

    update() {
        const selected = this.marked(this.side.selected), hovered = this.marked(this.side.hovered);
        this.elements.forEach((element, i) => {
            element.classList.toggle("main", selected.main === i);
            element.classList.toggle("sel", selected.all.has(i));
            element.classList.toggle("hot", hovered.all.has(i));
        });
    }

    /* Scrolls to what is selected. */
    show(s) {
        const {all, main} = this.marked(s), i = main >= 0 ? main : Math.min(...all);
        const part = this.elements[i], seen = this.element.clientHeight;
        if (!part || !seen) return;
        const top = part.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
        if (top < 8 || top + part.offsetHeight > seen - 8) this.element.scrollTop += top - seen / 3;
    }
}

const NO_CHANGES = {
    added: new Set(),
    removed: new Set(),
    rewired: new Set(),
    before: null
};

/* ---- one compilation on the page ---- */

class Side {
    constructor(app, doc, letter) {
        this.app = app;
        this.letter = letter;
        this.data = new Compilation(doc);
        this.doc = doc;
        this.hovered = null;
        this.selected = null;
        this.pass = doc.passes.length - 1;
        this.onlyChanges = false;
        this.graphRows = new GraphRows(this.data);
        this.element = make("div", {class: "side"});
        if (letter)
            this.element.append(make(
                "div", {class: "name"}, make("span", {class: "letter"}, letter),
                make("h2", {}, nameOf(doc, app.other(doc)))));
        this.element.append(
            this.figures(), this.slowest(), this.passTrack(), this.tabs(), this.panes(), this.arenaCard());
        this.setPass(this.pass);
    }

    /* -- figures -- */

    figures() {
        const {totals, bench, model} = this.doc;
        const figure = (value, name, title) =>
            make("div", {title}, make("div", {class: "value"}, ...value), make("div", {class: "name"}, name));
        const split = text => {
            const at = text.lastIndexOf(" ");
            return [text.slice(0, at), make("small", {}, " " + text.slice(at + 1))];
        };
        const list = [];
        if (bench) {
            const limit = sum(this.data.limit);
            list.push(figure(split(timeOf(bench.run_ns)), "a run, median of " + bench.rounds));
            list.push(figure(
                [make(
                    "span", {class: grade(limit / sum(this.data.time))},
                    percent(limit / sum(this.data.time)))],
                "of the kernels' roofline"));
            list.push(figure(
                split(countOf(totals.flops / bench.run_ns * 1e9, "FLOP/s")),
                percent(totals.flops / bench.run_ns / bench.peak_gflops) + " of the peak"));
        } else list.push(figure(split(countOf(totals.flops, "FLOP")), "a run"));
        list.push(figure(
            [String(totals.kernels), make("small", {}, ` from ${totals.ops.toLocaleString("en-US")} ops`)],
            `kernels, ${totals.calls} calls a run`));
        list.push(figure(
            split(bytesOf(totals.arena_bytes)),
            totals.arena_bytes ? `arena, ${bytesOf(totals.arena_bytes_least)} at least` : "arena"));
        if (totals.activation_bytes > 0)
            list.push(figure(split(bytesOf(totals.activation_bytes)), "kept for the backward pass"));
        list.push(
            figure(split(bytesOf(totals.weights_bytes)), `weights, ${countOf(totals.parameters)}parameters`));
        if (this.doc.check) {
            const worst = this.data.errorOf(this.data.calls.map((c, i) => i));
            const judged = worst && this.data.judge(worst);
            list.push(figure(
                worst ? [digits(worst.max_ulp ?? Infinity), make("small", {}, " ulp")] : ["-"],
                "largest error of a kernel" + (worst ? ": " + judged.short : ""), worst && judged.text));
        }
        const chips =
            Object.entries(model.options)
                .map(([key, value]) => make("span", {class: "chip"}, key + " ", make("b", {}, value)));
        chips.push(make("span", {class: "chip"}, "target ", make("b", {}, model.target)));
        for (const key of ["format", "arithmetic", "skip", "max_arena"])
            if (model[key])
                chips.push(make("span", {class: "chip"}, key + " ", make("b", {}, String(model[key]))));
        if (bench)
            chips.push(
                make("span", {class: "chip"}, "isa ", make("b", {}, bench.isa)),
                make("span", {class: "chip"}, "threads ", make("b", {}, String(bench.threads))));
        if (model.gradients) chips.push(make("span", {class: "chip"}, make("b", {}, "with gradients")));
        return make(
            "section", {class: "card", style: "overflow:hidden"}, make("div", {class: "figures"}, list),
            make("div", {class: "chips"}, chips));
    }

    /* -- the slowest kernels -- */

    slowest() {
        const bench = this.doc.bench, first = 6;
        const heads = [
            ["kernel"], ["line of Lua"], ["calls", "num hide-narrow"],
            ...(bench ?
                    [
                        ["time", "num"], ["time, solid: the roofline", "hide-narrow"], ["of it", "num"],
                        ["bound", "hide-narrow"], ["GFLOP/s", "num hide-narrow"]
                    ] :
                    [["work", "num"], ["share", "hide-narrow"]]),
            ["traffic", "num hide-narrow"], ...(this.doc.check ? [["error, ulp", "num"]] : [])
        ];
        this.tableBody = make("tbody", {});
        this.rowsOfTable = this.data.ranked.map(kernel => this.slowestRow(kernel));
        this.tableBody.append(...this.rowsOfTable);
        const more = this.rowsOfTable.length - first;
        const button = more > 0 ? make("button", {class: "more", type: "button"}, `${more} more`) : null;
        const fold = folded => {
            this.rowsOfTable.forEach((row, i) => {
                row.hidden = folded && i >= first;
            });
            if (button) button.textContent = folded ? `${more} more` : "fewer";
        };
        let folded = true;
        if (button) button.addEventListener("click", () => fold(folded = !folded));
        this.unfoldTable = () => fold(folded = false);
        this.foldTable = () => fold(folded = true);
        fold(true);
        return make(
            "section", {class: "card long"},
            make(
                "div", {class: "head"}, make("h2", {}, bench ? "Slowest kernels" : "Kernels by work"),
                make(
                    "span", {class: "hint"},
                    bench ? "A click shows one in all panes." :
                            "Times come with --bench. A click shows one in all panes."),
                make("span", {style: "flex:1"}), button),
            make(
                "div", {class: "scroll"},
                make(
                    "table", {"data-slowest": ""},
                    make(
                        "thead", {},
                        make("tr", {}, heads.map(([text, kind]) => make("th", {class: kind || ""}, text)))),
                    this.tableBody)));
    }

    slowestRow(kernel) {
        const d = this.data, k = d.kernels[kernel], bench = this.doc.bench, lines = d.mainLines(kernel);
        const most = d.weight[d.ranked[0]] || 1, time = d.time[kernel], limit = d.limit[kernel];
        const cells = [
            make(
                "td", {}, make("span", {class: "badge", style: colour(k.kind)}, k.name),
                d.isBackward(kernel) ?
                    make("span", {class: "muted", title: "a part of the backward pass"}, " ∂") :
                    null),
            make(
                "td", {}, make("code", {class: "lua"}, lines.length ? d.lineText(lines[0]) : ""),
                make(
                    "span", {class: "at"},
                    lines.map(line => d.lineName(line, true)).join(" ← ") + (k.scope ? "  " + k.scope : ""))),
            make("td", {class: "num hide-narrow"}, "× " + k.calls)
        ];
        const bar = make(
            "div", {class: "bar", style: colour(k.kind)},
            make("i", {style: `width:${100 * d.weight[kernel] / most}%`}));
        if (bench) {
            bar.append(make("b", {style: `width:${100 * Math.min(limit, time) / most}%`}));
            const share = limit / time;
            cells.push(
                make("td", {class: "num"}, timeOf(time), make("div", {class: "at"}, percent(time / d.total))),
                make("td", {class: "hide-narrow", style: "width:22%"}, bar),
                make("td", {class: "num " + grade(share)}, percent(share)),
                make(
                    "td", {class: "hide-narrow muted"},
                    bench.kernels[kernel].flops_ns > bench.kernels[kernel].memory_ns ? "flops" : "memory"),
                make("td", {class: "num hide-narrow"}, digits(k.flops * k.calls / time)));
        } else
            cells.push(
                make("td", {class: "num"}, countOf(k.flops * k.calls, "FLOP")),
                make("td", {class: "hide-narrow", style: "width:22%"}, bar));
        cells.push(make(
            "td", {class: "num hide-narrow", title: "into L1, of it into L2: by a model of the caches"},
            bytesOf(k.bytes_to_l1 * k.calls),
            make("div", {class: "at"}, "L2 " + bytesOf(k.bytes_to_l2 * k.calls))));
        if (this.doc.check)
            cells.push(this.errorCell(d.error[kernel]));
        const row = make("tr", {class: "row", tabindex: "0", "data-kernel": kernel}, cells);
        row.addEventListener("click", () => this.select(d.selectKernel(kernel), true));
        row.addEventListener("pointerenter", () => this.hover(d.selectKernel(kernel)));
        row.addEventListener("pointerleave", () => this.hover(null));
        row.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") this.select(d.selectKernel(kernel), true);
            else if (event.key === "ArrowDown" && row.nextElementSibling) row.nextElementSibling.focus();
            else if (event.key === "ArrowUp" && row.previousElementSibling)
                row.previousElementSibling.focus();
            else return;
            event.preventDefault();
            event.stopPropagation();
        });
        return row;
    }

    errorCell(error) {
        if (!error) return make("td", {});
        const judged = this.data.judge(error);
        return make(
            "td", {class: "num", title: judged.text}, digits(error.max_ulp ?? Infinity),
            make("div", {class: "at " + judged.grade}, judged.short));
    }

    /* -- passes -- */

    passTrack() {
        const signed = (n, sign, kind) => n ? make("span", {class: kind}, sign + n + " ") : null;
        this.stops = this.doc.passes.map(
            (pass, i) => make(
                "button", {
                    class: "stop" + (pass.added || this.gain(i) ? " changes" : ""),
                    type: "button",
                    role: "radio",
                    tabindex: "-1",
                    title: pass.doc,
                    onclick: () => this.setPass(i)
                },
                pass.name,
                make(
                    "small", {},
                    ...(pass.added ?
                            [
                                signed(pass.removed.length, "−", "minus"),
                                signed(pass.added.length, "+", "plus"),
                                signed(pass.rewired.length, "~", "tilde")
                            ] :
                            [this.gain(i)])),
                pass.added && this.gain(i) ? make("small", {}, this.gain(i)) : null));
        this.change = make("div", {class: "change", "aria-live": "polite"});
        this.track = make(
            "div", {class: "track", role: "radiogroup", "aria-label": "passes", tabindex: "0"}, this.stops);
        this.track.addEventListener("keydown", event => this.app.passKey(event, this));
        return make(
            "section", {class: "card pass-card"},
            make(
                "div", {class: "head"}, make("h2", {}, "Passes"),
                make(
                    "span", {class: "hint"},
                    "← and → go from pass to pass; the graph below is the one after it.")),
            make("div", {class: "passes"}, this.track, this.change));
    }

    /* What a pass adds to the module besides nodes, in a word. */
    gain(i) {
        const p = this.doc.passes[i], before = this.doc.passes[i - 1] || {};
        if (p.name === "emit") return this.doc.c.lines.length + " lines";
        if (p.kernels !== undefined && p.kernels !== before.kernels) return p.kernels + " kernels";
        if (p.functions !== undefined && before.functions === undefined) return p.functions + " functions";
        if (p.arena_bytes !== undefined && before.arena_bytes === undefined) return bytesOf(p.arena_bytes);
        if (p.steps !== undefined && before.steps === undefined) return p.statements + " stmts";
        return "";
    }

    describePass(i) {
        const p = this.doc.passes[i], graphs = this.doc.graphs, before = this.doc.passes[i - 1],
              parts = [make("b", {class: "mono"}, p.name), make("span", {}, p.doc)];
        const nodes = graphs[p.graph].nodes, was = before ? graphs[before.graph].nodes : nodes;
        parts.push(
            make("span", {class: "muted num"}, was === nodes ? `${nodes} nodes` : `${was} → ${nodes} nodes`));
        if (p.added)
            parts.push(make(
                "span", {}, make("span", {class: "minus"}, `${p.removed.length} removed `),
                make("span", {class: "plus"}, `${p.added.length} added `),
                make("span", {class: "tilde"}, `${p.rewired.length} rewired`)));
        if (p.kernels !== undefined)
            parts.push(make(
                "span", {class: "muted"},
                `${p.kernels} kernels` +
                    (p.functions !== undefined ?
                         `, ${p.functions} functions, ${p.loops} loop${p.loops === 1 ? "" : "s"}` :
                         "")));
        if (p.arena_bytes !== undefined)
            parts.push(make(
                "span", {class: "muted"},
                `arena ${bytesOf(p.arena_bytes)}, weights ${bytesOf(p.weights_bytes)}`));
        if (i)
            parts.push(
                make("span", {class: "muted num", title: "with what verifies the pass"}, timeOf(p.ns)));
        if (p.added) {
            const box = make("input", {
                type: "checkbox",
                onchange: () => {
                    this.onlyChanges = box.checked;
                    this.drawGraph();
                }
            });
            box.checked = this.onlyChanges;
            parts.push(make("label", {}, box, " only what it changed"));
        }
        this.change.replaceChildren(...parts);
    }

    setPass(i) {
        this.pass = Math.max(0, Math.min(this.doc.passes.length - 1, i));
        this.stops.forEach((stop, j) => stop.setAttribute("aria-checked", j === this.pass));
        this.describePass(this.pass);
        this.drawGraph();
    }

    drawGraph() {
        const p = this.doc.passes[this.pass], before = this.doc.passes[this.pass - 1];
        const g = this.doc.graphs[p.graph];
        this.shown = g;
        this.isLast = p.graph === this.data.last;
        this.changes = p.added ? {
            added: new Set(p.added),
            removed: p.removed,
            rewired: new Set(p.rewired),
            before: this.doc.graphs[before.graph]
        } :
                                 {...NO_CHANGES, removed: []};
        this.graphRows.build(g, this.changes, this.onlyChanges && !!p.added);
        this.graphList.replace(this.graphRows.rows.length);
        this.graphHint.textContent = `after ${p.name}, ${g.nodes.toLocaleString("en-US")} nodes`;
        if (this.selected) this.reveal(this.selected, "graph");
    }

    /* -- panes -- */

    tabs() {
        const names = ["Lua", "Graph", "Kernels", "C", "Model"];
        this.tabButtons = names.map(
            (name, i) => make(
                "button", {
                    type: "button",
                    role: "tab",
                    "aria-selected": i === MODEL_PANE,
                    onclick: () => this.showTab(i)
                },
                name));
        return make("div", {class: "tabs", role: "tablist"}, modelFirst(this.tabButtons));
    }

    /* A list that cannot be seen does not scroll: it does when its pane comes to the front. */
    showTab(i) {
        this.tabButtons.forEach((button, j) => button.setAttribute("aria-selected", i === j));
        this.paneElements.forEach((pane, j) => pane.classList.toggle("shown", i === j));
        for (const view of this.views) view.refresh();
        if (this.selected) this.reveal(this.selected);
    }

    panes() {
        const pane = (name, hint, list, ...more) => make(
            "section", {class: "card pane", "aria-label": name},
            make(
                "div", {class: "head"}, make("h2", {}, name), hint,
                ...more.filter(m => m && m.tagName === "BUTTON")),
            list.element, ...more.filter(m => m && m.tagName !== "BUTTON"));
        const hint = text => make("span", {class: "hint"}, text);
        this.buildLua();
        this.buildKernels();
        this.luaList =
            new List("lines of Lua", 20, (i, row) => this.drawLua(i, row), (what, i) => this.onLua(what, i));
        this.graphList = new List(
            "nodes of the graph", 20, (i, row) => this.drawNode(i, row),
            (what, i, event) => this.onNode(what, i, event));
        this.kernelList =
            new List("kernels", 58, (i, row) => this.drawKernel(i, row), (what, i) => this.onKernel(what, i));
        this.cList =
            new List("lines of C", 20, (i, row) => this.drawC(i, row), (what, i) => this.onC(what, i));
        this.lists = [this.luaList, this.graphList, this.kernelList, this.cList];
        this.drawing = new Drawing(this);
        this.views = [...this.lists, this.drawing];
        const widest = lines => Math.max(...lines.map(line => line.length), 0) + 16;
        this.luaList.replace(this.luaRows.length, widest(this.luaRows.map(row => row.text || "")));
        this.kernelList.replace(this.kernelRows.length);
        this.cList.replace(this.doc.c.lines.length, widest(this.doc.c.lines));
        this.detail = make(
            "div", {class: "detail", "aria-live": "polite"},
            make("p", {class: "muted"}, "A kernel, a node or a line that is clicked is described here."));
        this.graphHint = hint("");
        const foldAll = make("button", {type: "button", title: "f", onclick: () => this.foldAll()}, "layers");
        const lines = sum(this.doc.sources.map(s => s ? s.length : 0));
        this.paneElements = [
            pane(
                "Lua",
                hint(`${lines} lines in ${this.doc.sources.length} file${
                    this.doc.sources.length === 1 ? "" : "s"}`),
                this.luaList),
            pane("Graph", this.graphHint, this.graphList, foldAll),
            pane(
                "Kernels", hint(`${this.data.kernels.length} in ${this.data.calls.length} calls`),
                this.kernelList, this.detail),
            pane("C", hint(`${this.doc.c.lines.length.toLocaleString("en-US")} lines`), this.cList),
            pane("Model", hint("from top to bottom"), this.drawing)
        ];
        this.paneElements.forEach(
            (element, i) => element.classList.add("pane-" + ["lua", "graph", "kernels", "c", "model"][i]));
        this.paneElements[MODEL_PANE].classList.add("shown");
        return this.panesElement = make("div", {class: "panes"}, modelFirst(this.paneElements));
    }

    foldAll() {
        const rows = this.graphRows,
              all = rows.groups.map((g, i) => i).filter(i => rows.groups[i].runs.length > 1);
        if (all.every(i => rows.open.has(i))) rows.open.clear();
        else
            for (const i of all) rows.open.add(i);
        this.drawGraph();
    }

    /* Lua: the script, then the files it requires. */
    buildLua() {
        const d = this.data;
        this.luaRows = [];
        this.rowOfLine = new Map();
        const numbers = new Map(d.tables.lines.map(([file, line], i) => [file + ":" + line, i]));
        d.tables.files.forEach((path, file) => {
            this.luaRows.push({file: path});
            const source = this.doc.sources[file];
            if (!source) return this.luaRows.push({text: "(the text of this file could not be read)"});
            source.forEach((text, i) => {
                const line = numbers.get(file + ":" + (i + 1));
                if (line !== undefined) this.rowOfLine.set(line, this.luaRows.length);
                this.luaRows.push({text, number: i + 1, line});
            });
        });
    }

    /* Hovered, selected, or the one that is meant: for a row of any list. */
    mark(isIn, isMain) {
        const s = this.selected, h = this.hovered;
        return (s && isMain(s) ? " main" : s && isIn(s) ? " sel" : "") + (h && isIn(h) ? " hot" : "");
    }

    drawLua(i, row) {
        const r = this.luaRows[i];
        if (r.file) {
            const path = escapeHtml(r.file);
            return dress(row, "r file", `<span title="${path}">${path}</span>`);
        }
        if (r.html === undefined) {
            const heat = r.line === undefined ? 0 : this.data.heat[r.line];
            r.html = `<span class="no">${r.number || ""}</span><span class="heat"${
                         heat > .0005 ? ` title="${percent(heat)} of the ${
                                            this.doc.bench ?
                                                "time" :
                                                "work"}"><i style="width:${Math.max(6, 100 * heat)}%"></i>` :
                                        ">"}</span>` +
                coloured(r.text, LUA);
        }
        const isIn = s => r.line !== undefined && s.lines.has(r.line);
        const isMain = s => s.mainRow === i || (r.line !== undefined && s.mainLines.has(r.line));
        dress(row, "r" + this.mark(s => isIn(s) || s.mainRow === i, isMain), r.html);
    }

    /* The lines with nodes of the function that begins in a row: up to the `end` below its first letter. */
    bodyOf(i) {
        const {text} = this.luaRows[i], lines = [];
        if (!definedIn(text)) return lines;
        const end = text.match(/^\s*/)[0] + "end";
        for (let at = i + 1; at < this.luaRows.length && !this.luaRows[at].file; at++) {
            const row = this.luaRows[at];
            if (row.text.startsWith(end)) break;
            if (row.line !== undefined) lines.push(row.line);
        }
        return lines;
    }

    hasNodes(row) { return row.line !== undefined && this.data.nodesOfLine[row.line].length > 0; }

    /* A row of Lua that is meant: its nodes, if it has any, or those of the function that begins there. */
    selectLua(i) {
        const r = this.luaRows[i];
        return this.hasNodes(r) ? this.data.selectLine(r.line) : this.data.selectRow(i, this.bodyOf(i));
    }

    onLua(what, i) {
        const r = this.luaRows[i];
        if (what === "hover") this.hover(r && this.hasNodes(r) ? this.data.selectLine(r.line) : null);
        else if (r && r.number) this.select(this.selectLua(i), true, "lua");
    }

    /* The graph.  Nodes of an earlier pass are found by where they come from. */
    originOf(graph, id) { return graph.line[id] + ":" + graph.library[id] + ":" + graph.scope[id]; }

    originsOf(selection) {
        if (!selection.origins)
            selection.origins = new Set([...selection.nodes].map(id => this.originOf(this.data.graph, id)));
        return selection.origins;
    }

    drawNode(i, row) {
        const r = this.graphRows.rows[i], t = this.data.tables;
        if (r.type === "scope") return dress(row, "r scope", escapeHtml(t.scopes[r.scope] || "(no scope)"));
        if (r.type === "fold") return this.drawFold(r, row);
        const g = r.gone ? this.changes.before : this.shown, id = r.id,
              stored = this.isLast && !r.gone && this.data.storedBy.get(id);
        if (!r.html) {
            const name = g.name[id] >= 0 ? t.texts[g.name[id]] : "",
                  attribute = g.attribute[id] >= 0 ? t.texts[g.attribute[id]] : "";
            r.html = `<span class="id">v${id}</span><span class="op">${t.ops[g.op[id]]}${
                         g.backward[id] ? " ∂" : ""}</span>` +
                (name ? `<span class="nm">${escapeHtml(name)}</span>` : "") +
                `<span class="in">${g.operands[id].map(o => "v" + o).join(" ")}${
                         attribute ? "  " + escapeHtml(attribute) :
                                     ""}</span><span class="sh">${escapeHtml(t.shapes[g.shape[id]])}</span>`;
        }
        const marks = r.gone ? "" :
            this.isLast      ? this.mark(s => s.nodes.has(id), s => s.mainNode === id) :
                               this.mark(s => this.originsOf(s).has(this.originOf(g, id)), () => false);
        const change = r.gone            ? " removed" :
            this.changes.added.has(id)   ? " added" :
            this.changes.rewired.has(id) ? " rewired" :
                                           "";
        dress(
            row, "r g" + change + (stored !== undefined && stored !== false ? " stored" : "") + marks,
            r.html);
        const call = this.isLast && !r.gone && this.data.callsOf[id][0];
        row.style.borderLeftColor = call !== undefined && call !== false && !marks.includes("main") ?
            `var(--k-${this.data.kernels[this.data.calls[call].kernel].kind})` :
            "";
    }

    drawFold(r, row) {
        const {layer} = r.runs[0], indices = r.runs.map(run => run.layer.index), n = r.runs.length;
        const base = layer.prefix ? layer.prefix + "." : "";
        const step = r.open ?
            "" :
            `<button data-step="-1" title="the layer before" tabindex="-1">‹</button>layer ${
                indices[Math.min(
                    r.at, n - 1)]}<button data-step="1" title="the next layer" tabindex="-1">›</button>`;
        dress(
            row, "r fold",
            `<button tabindex="-1">${r.open ? "▾" : "▸"}</button>${escapeHtml(base)}${indices[0]} … ${
                escapeHtml(base)}${indices[n - 1]} <span class="x">× ${n}</span>${
                r.runs[0].backward ? "∂" : ""}<span style="flex:1"></span>${step}`);
        row.style.borderLeftColor = "";
    }

    onNode(what, i, event) {
        const r = this.graphRows.rows[i];
        if (!r || r.gone || r.type === "scope") return what === "hover" ? this.hover(null) : undefined;
        if (r.type === "fold") {
            if (what === "hover") return this.hover(null);
            const button = event.target.closest && event.target.closest("button"),
                  step = button && Number(button.dataset.step);
            if (step) this.graphRows.chosen.set(r.group, (r.at + step + r.runs.length) % r.runs.length);
            else if (r.open) this.graphRows.open.delete(r.group);
            else this.graphRows.open.add(r.group);
            return this.drawGraph();
        }
        let s;
        if (this.isLast) s = this.data.selectNode(r.id);
        else {
            const origin = this.originOf(this.shown, r.id), ids = [];
            for (const line of this.data.linesOf(r.id, this.shown).slice(0, 1))
                for (const id of this.data.nodesOfLine[line])
                    if (this.originOf(this.data.graph, id) === origin) ids.push(id);
            s = this.data.selectNodes(ids);
            for (const line of this.data.linesOf(r.id, this.shown)) s.lines.add(line);
            s.origins = new Set([origin]);
        }
        if (what === "hover") this.hover(s);
        else this.select(s, true, "graph");
    }

    /* Kernels in the order of their first calls; those of a loop behind its head. */
    buildKernels() {
        const d = this.data, loops = new Map(this.doc.loops.map(loop => [loop.first, loop]));
        this.kernelRows = [];
        const inLoop = kernel => this.doc.loops.find(
            l =>
                d.kernels[kernel].first_call >= l.first && d.kernels[kernel].first_call < l.first + l.period);
        d.kernels.map((k, i) => i)
            .sort((a, b) => d.kernels[a].first_call - d.kernels[b].first_call)
            .forEach(kernel => {
                const loop = inLoop(kernel);
                if (loop && loops.has(loop.first)) {
                    this.kernelRows.push({loop});
                    loops.delete(loop.first);
                } else if (!loop && this.kernelRows.length && this.wasLoop)
                    this.kernelRows.push({loop: null});
                this.wasLoop = !!loop;
                this.kernelRows.push({kernel});
            });
        this.rowOfKernel = new Map();
        this.kernelRows.forEach((row, i) => {
            if (row.kernel !== undefined) this.rowOfKernel.set(row.kernel, i);
        });
    }

    drawKernel(i, row) {
        const r = this.kernelRows[i], d = this.data;
        if (r.loop) {
            const last = r.loop.start + (r.loop.count - 1) * r.loop.direction;
            return dress(
                row, "r kr loop", `a loop: layers ${r.loop.start} … ${last} <b>× ${r.loop.count}</b>`);
        }
        if (r.kernel === undefined) return dress(row, "r kr loop", "behind the loop");
        const k = d.kernels[r.kernel], time = d.time[r.kernel], limit = d.limit[r.kernel],
              most = d.weight[d.ranked[0]] || 1, bench = this.doc.bench;
        if (!r.html)
            r.html = `<div class="top"><span class="badge" style="${colour(k.kind)}"></span><b>${
                         escapeHtml(k.name)}</b>${d.isBackward(r.kernel) ? "∂" : ""}<span class="num">${
                         bench ? timeOf(time) : countOf(k.flops * k.calls, "FLOP")}</span></div>` +
                `<div class="bar" style="${colour(k.kind)}"><i style="width:${
                         100 * d.weight[r.kernel] / most}%"></i>${
                         bench ? `<b style="width:${100 * Math.min(limit, time) / most}%"></b>` : ""}</div>` +
                `<div class="sub"><span>${k.kind.replace("_", " ")}${
                         k.calls > 1 ? " × " + k.calls : ""}</span><span class="num">${
                         bench ? `<span class="${grade(limit / time)}">${
                                     percent(limit / time)} of the roofline</span>` :
                                 bytesOf(k.bytes_read + k.bytes_written)}</span></div>`;
        dress(row, "r kr" + this.mark(s => s.kernels.has(r.kernel), s => s.mainKernel === r.kernel), r.html);
    }

    onKernel(what, i) {
        const r = this.kernelRows[i], kernel = r && r.kernel;
        if (what === "hover") this.hover(kernel === undefined ? null : this.data.selectKernel(kernel));
        else if (kernel !== undefined) this.select(this.data.selectKernel(kernel), true, "kernels");
    }

    drawC(i, row) {
        const line = i + 1;
        const html = (this.cHtml || (this.cHtml = []))[i] ||
            (this.cHtml[i] = `<span class="no">${line}</span>` + coloured(this.doc.c.lines[i], C));
        dress(row, "r" + this.mark(s => s.c.has(line), s => s.mainC.has(line)), html);
    }

    onC(what, i) {
        const s = i < 0 ? null : this.data.selectC(i + 1);
        if (what === "hover") this.hover(s);
        else if (s) this.select(s, true, "c");
    }

    /* -- hovering and selecting -- */

    hover(selection) {
        if (this.hovered === selection) return;
        this.hovered = selection;
        for (const view of this.views) view.refresh();
        this.drawArenaLater();
    }

    select(selection, tell, from) {
        this.selected = selection;
        for (const row of this.rowsOfTable) {
            const is = !!selection && selection.mainKernel === Number(row.dataset.kernel);
            row.classList.toggle("sel", is);
            if (is && row.hidden) row.hidden = false;
        }
        for (const view of this.views) view.refresh();
        this.drawArenaLater();
        this.describe(selection);
        if (selection) this.reveal(selection, null, from);
        if (selection && tell) this.panesElement.scrollIntoView({block: "nearest"});
        this.markTabs();
        if (tell) this.app.onSelect(this, selection);
    }

    /* Where panes are tabs: those in which something is selected have a dot. */
    markTabs() {
        const s = this.selected;
        const filled = [
            s && (s.lines.size || s.mainRow !== undefined), s && s.nodes.size, s && s.kernels.size,
            s && s.c.size, s && s.nodes.size
        ];
        this.tabButtons.forEach((button, i) => button.classList.toggle("has", !!filled[i]));
    }

    /* Scrolls each pane but the one that was clicked to what is selected; or one pane. */
    reveal(s, only, from) {
        const first = set => {
            let least = Infinity;
            for (const x of set)
                if (x < least) least = x;
            return least;
        };
        if ((!only || only === "graph") && from !== "graph") {
            const node = s.mainNode !== undefined ? s.mainNode : first(s.nodes);
            if (this.isLast && node !== Infinity) {
                if (this.graphRows.choose(node)) {
                    this.graphRows.build(
                        this.shown, this.changes, this.onlyChanges && this.changes.added.size > 0);
                    this.graphList.replace(this.graphRows.rows.length);
                }
                this.graphList.show(this.graphRows.rowOf.get(node) ?? -1);
            } else if (!this.isLast)
                this.graphList.show(this.graphRows.rows.findIndex(
                    r => r.type === "node" && !r.gone &&
                        this.originsOf(s).has(this.originOf(this.shown, r.id))));
        }
        if (only) return;
        if (from !== "lua" && s.mainRow !== undefined) this.luaList.show(s.mainRow);
        else if (from !== "lua") {
            const lines = s.mainLines.size ? s.mainLines :
                s.mainNode !== undefined   ? this.data.linesOf(s.mainNode) :
                                             s.lines;
            for (const line of lines)
                if (this.rowOfLine.has(line)) {
                    this.luaList.show(this.rowOfLine.get(line));
                    break;
                }
        }
        if (from !== "model") this.drawing.show(s);
        const kernel = s.mainKernel !== undefined ? s.mainKernel : [...s.kernels][0];
        if (from !== "kernels" && kernel !== undefined) this.kernelList.show(this.rowOfKernel.get(kernel));
        if (from !== "c" && s.c.size) {
            const inKernel = kernel === undefined ? [] :
                                                    [...s.c].filter(
                                                        line => this.data.kernelOfC[line] === kernel &&
                                                            line >= this.data.spanOfKernel[kernel][0] &&
                                                            line <= this.data.spanOfKernel[kernel][1]);
            this.cList.show((inKernel.length ? first(inKernel) : first(s.c)) - 1);
        }
    }

    describe(s) {
        const d = this.data, kernel = s ? s.mainKernel : undefined;
        if (kernel === undefined) {
            const node = s && s.mainNode !== undefined ?
                `v${s.mainNode} is computed by no kernel of its own.` :
                s && s.kind === "line" ?
                "No node of the graph comes from this line itself." :
                "A kernel, a node or a line that is clicked is described here.";
            return this.detail.replaceChildren(make("p", {class: "muted"}, node));
        }
        const k = d.kernels[kernel], rows = [], bench = this.doc.bench,
              add = (name, value) => rows.push(make("dt", {}, name), make("dd", {}, value));
        const lines = d.mainLines(kernel);
        if (lines.length) add("line of Lua", lines.map(line => d.lineName(line)).join(" ← "));
        if (bench) {
            const b = bench.kernels[kernel];
            add("time", timeOf(b.median_ns) + ", fastest " + timeOf(b.least_ns));
            add("limit by flops", timeOf(b.flops_ns));
            add("limit by bytes", timeOf(b.memory_ns));
        }
        add("calls",
            `${k.calls}` +
                (s.call !== undefined && d.calls[s.call].layer >= 0 ?
                     `, layer ${d.calls[s.call].layer} shown` :
                     ""));
        add("work", countOf(k.flops, "FLOP"));
        add("reads",
            bytesOf(k.bytes_read) + (k.bytes_weights ? ", weights " + bytesOf(k.bytes_weights) : ""));
        add("writes", bytesOf(k.bytes_written));
        add("traffic", bytesOf(k.bytes_to_l1) + " to L1, " + bytesOf(k.bytes_to_l2) + " to L2");
        add("scratch", bytesOf(k.scratch_bytes));
        const error = d.error[kernel];
        if (error) {
            add("error, at most",
                `${digits(error.max_ulp ?? Infinity)} ulp, ${
                    error.max_abs === null ? "-" : error.max_abs.toExponential(2)}`);
            add("is that usual", d.judge(error).text);
        }
        this.detail.replaceChildren(
            make("h3", {}, make("span", {class: "badge", style: colour(k.kind)}, k.name)),
            make("dl", {}, rows), make("pre", {}, k.about));
        this.detail.scrollTop = 0;
    }

    /* The same as a selection of the other side: by the lines of Lua, and the kernel of that title. */
    mirror(other, s) {
        if (!s) return this.select(null, false);
        if (s.mainKernel !== undefined) {
            const theirs = other.data.kernels[s.mainKernel], at = this.partner(other, s.mainKernel);
            if (at >= 0 && theirs) return this.select(this.data.selectKernel(at), false);
        }
        const names = new Set([...s.lines].map(line => other.data.lineName(line)));
        const lines = this.data.tables.lines.map((x, i) => i).filter(i => names.has(this.data.lineName(i)));
        const ids = new Set();
        for (const line of lines)
            for (const id of this.data.nodesOfLine[line]) ids.add(id);
        this.select(this.data.selectNodes([...ids]), false);
    }

    partner(other, kernel) {
        const k = other.data.kernels[kernel];
        const number = list => list.filter(x => x.title === k.title && x.kind === k.kind);
        const nth = number(other.data.kernels).indexOf(k), mine = number(this.data.kernels);
        const found =
            mine[Math.min(nth, mine.length - 1)] || this.data.kernels.find(x => x.title === k.title);
        return found ? this.data.kernels.indexOf(found) : -1;
    }

    /* -- the arena -- */

    arenaCard() {
        this.canvas = make(
            "canvas",
            {tabindex: "0", role: "img", "aria-label": "the arena: what lies where from call to call"});
        const kinds = [...new Set(this.data.kernels.map(k => k.kind))];
        this.canvas.addEventListener("pointermove", event => this.onArena("hover", event));
        this.canvas.addEventListener("pointerleave", () => {
            this.app.tip(null);
            this.hover(null);
        });
        this.canvas.addEventListener("click", event => this.onArena("click", event));
        new ResizeObserver(() => this.drawArenaLater()).observe(this.canvas);
        return make(
            "section", {class: "card arena-card"},
            make(
                "div", {class: "head"}, make("h2", {}, "Arena over time"),
                make(
                    "span", {class: "hint"},
                    `${this.doc.arena.length} values; from left to right the ${
                        this.data.calls.length} calls of a run, upwards the bytes` +
                        (this.doc.bench ? "; below, what each call took" : ""))),
            make(
                "div", {class: "arena"}, this.canvas,
                make(
                    "div", {class: "legend"},
                    kinds.map(
                        kind =>
                            make("span", {class: "badge", style: colour(kind)}, kind.replace("_", " "))))));
    }

    drawArenaLater() {
        if (this.arenaPending || !this.canvas) return;
        this.arenaPending = true;
        requestAnimationFrame(() => {
            this.arenaPending = false;
            this.drawArena();
        });
    }

    /* Only rectangles: the picture is drawn anew when something else is selected. */
    drawArena() {
        const canvas = this.canvas, width = canvas.clientWidth, height = canvas.clientHeight,
              ratio = window.devicePixelRatio || 1;
        if (!width || !height) return;
        const key = [
            width, height, ratio, this.app.theme,
            this.selected && [...this.selected.nodes].length + ":" + this.selected.mainNode,
            this.hovered && this.hovered.mainNode + ":" + this.hovered.nodes.size
        ].join();
        if (key === this.arenaKey) return;
        this.arenaKey = key;
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
        }
        const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement),
              get = name => style.getPropertyValue(name).trim();
        const left = 64, times = this.doc.bench ? 56 : 0, bottom = 18, top = 6,
              plot = height - top - bottom - times;
        const calls = this.data.calls.length || 1, total = this.doc.totals.arena_bytes || 1;
        const x = i => left + (width - left - 4) * i / calls, y = b => top + plot * (1 - b / total);
        const colours = new Map(KINDS.map(kind => [kind, get("--k-" + kind)]));
        this.arenaScale = {left, top, plot, calls, total, width};
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        c.fillStyle = get("--panel");
        c.fillRect(0, 0, width, height);
        c.fillStyle = get("--raised");
        c.fillRect(left, top, width - left - 4, plot);
        c.font = "11px system-ui, sans-serif";
        c.fillStyle = get("--muted");
        c.strokeStyle = get("--line");
        c.lineWidth = 1;
        c.textAlign = "right";
        for (let i = 0; i <= 4; i++) {
            c.fillText(
                bytesOf(total * i / 4), left - 6,
                Math.min(top + plot, Math.max(top + 9, y(total * i / 4) + 4)));
            c.beginPath();
            c.moveTo(left, Math.round(y(total * i / 4)) + .5);
            c.lineTo(width - 4, Math.round(y(total * i / 4)) + .5);
            c.stroke();
        }
        const lit = this.hovered || this.selected;
        for (const [node, offset, bytes, first, last] of this.doc.arena) {
            const kind = this.data.kernels[this.data.calls[first].kernel].kind;
            c.globalAlpha = !lit ? .62 : lit.nodes.has(node) ? 1 : .22;
            c.fillStyle = colours.get(kind) || colours.get("write");
            c.fillRect(
                x(first) + .5, y(offset + bytes) + .5, Math.max(1.5, x(last + 1) - x(first) - 1),
                Math.max(1, plot * bytes / total - 1));
            c.globalAlpha = 1;
            if (lit && lit.nodes.has(node)) {
                c.strokeStyle = get("--text");
                c.strokeRect(
                    x(first) + 1, y(offset + bytes) + 1, Math.max(2, x(last + 1) - x(first) - 2),
                    Math.max(2, plot * bytes / total - 2));
            }
        }
        if (times) this.drawTimes(c, x, top + plot + 6, times - 6, colours, lit);
        c.fillStyle = get("--muted");
        c.textAlign = "center";
        for (const loop of this.doc.loops) {
            const middle = (x(loop.first) + x(loop.first + loop.period * loop.count)) / 2;
            c.fillText(
                `layers ${loop.start} … ${loop.start + (loop.count - 1) * loop.direction}`, middle,
                height - 5);
        }
        if (!this.doc.loops.length) c.fillText(`${calls} calls`, left + (width - left) / 2, height - 5);
    }

    drawTimes(c, x, top, height, colours, lit) {
        const calls = this.doc.bench.calls, most = Math.max(...calls, 1);
        calls.forEach((ns, i) => {
            const kernel = this.data.calls[i].kernel;
            c.globalAlpha = !lit || lit.kernels.has(kernel) ? .9 : .25;
            c.fillStyle = colours.get(this.data.kernels[kernel].kind) || colours.get("write");
            const h = Math.max(1, height * ns / most);
            c.fillRect(x(i) + .5, top + height - h, Math.max(1, x(i + 1) - x(i) - 1), h);
        });
        c.globalAlpha = 1;
    }

    onArena(what, event) {
        const s = this.arenaScale, box = this.canvas.getBoundingClientRect();
        if (!s) return;
        const call = Math.floor((event.clientX - box.left - s.left) / (s.width - s.left - 4) * s.calls);
        const byte = (1 - (event.clientY - box.top - s.top) / s.plot) * s.total;
        const value = this.doc.arena.find(
            ([node, offset, bytes, first, last]) =>
                call >= first && call <= last && byte >= offset && byte < offset + bytes);
        const kernel = call >= 0 && call < this.data.calls.length ? this.data.calls[call].kernel : -1;
        if (what === "click") {
            if (value)
                return this.select(this.data.selectKernel(this.data.calls[value[3]].kernel, value[3]), true);
            return kernel >= 0 ? this.select(this.data.selectKernel(kernel, call), true) : undefined;
        }
        if (value) {
            const [node, offset, bytes, first, last] = value, g = this.data.graph;
            this.app.tip(
                event,
                `v${node}  ${this.data.tables.scopes[g.scope[node]] || ""}\n${
                    this.data.tables.shapes[g.shape[node]]}, ${bytesOf(bytes)} at ${
                    bytesOf(offset)}\nlives from call ${first} to ${last}, written by ${
                    this.data.kernels[this.data.calls[first].kernel].name}`);
            this.hover(
                this.arenaHover&& this.arenaHover.mainNode === node ?
                    this.arenaHover :
                    this.arenaHover = this.data.selectNode(node));
        } else {
            this.hover(null);
            this.app.tip(
                kernel >= 0 ? event : null,
                kernel >= 0 ? `call ${call}: ${this.data.kernels[kernel].name}` +
                        (this.doc.bench ? ", " + timeOf(this.doc.bench.calls[call]) : "") :
                              "");
        }
    }

    /* -- searching -- */

    placeOfRow(i) {
        let file = i;
        while (!this.luaRows[file].file) file--;
        return this.luaRows[file].file.split("/").pop() + ":" + this.luaRows[i].number;
    }

    /* Rows of Lua in the order in which they are offered: where a function begins that is called so, lines
     * with nodes, other code, comments. */
    rankedLua(has) {
        const rankOf = row => has(definedIn(row.text)) ? 0 : this.hasNodes(row) ? 1 :
            /^\s*--/.test(row.text)                                               ? 3 :
                                                                                   2;
        return this.luaRows.map((row, i) => i)
            .filter(i => this.luaRows[i].number && has(this.luaRows[i].text))
            .map(i => ({i, rank: rankOf(this.luaRows[i])}))
            .sort((a, b) => a.rank - b.rank || a.i - b.i)
            .map(x => x.i);
    }

    find(words) {
        const d = this.data, found = [], has = text => words.every(word => text.toLowerCase().includes(word)),
              most = 8;
        const add = (what, text, select, place = "") => {
            if (found.filter(f => f.what === what).length < most)
                found.push({what, text: text.trim(), place, select, side: this});
        };
        d.ranked.forEach(k => {
            if (has(d.kernels[k].name + " " + d.kernels[k].kind + " " + d.kernels[k].scope))
                add("kernel", d.kernels[k].name + "  " + d.kernels[k].where, () => d.selectKernel(k));
        });
        for (const i of this.rankedLua(has))
            add("Lua", this.luaRows[i].text, () => this.selectLua(i), this.placeOfRow(i));
        const g = d.graph, t = d.tables;
        for (let id = 0; id < g.nodes; id++) {
            const name = g.name[id] >= 0 ? t.texts[g.name[id]] : "";
            const text =
                `v${id} ${t.ops[g.op[id]]} ${name} ${t.scopes[g.scope[id]]} ${t.shapes[g.shape[id]]}`;
            if (has(text)) add("node", text, () => d.selectNode(id));
        }
        this.doc.c.lines.forEach((line, i) => {
            if (has(line) && (d.kernelOfC[i + 1] >= 0)) add("C", line, () => d.selectC(i + 1));
        });
        return found;
    }
}

/* ---- two compilations compared ---- */

/* What a model is compiled with, by name. */
function settingsOf(doc) {
    const {options, target, format, arithmetic, skip, max_arena, gradients} = doc.model;
    return {
        model: doc.model.name,
        ...options,
        target,
        format: format || "f32",
        arithmetic: arithmetic || "f32",
        skip: skip || "-",
        max_arena: max_arena || "-",
        gradients: gradients ? "yes" : "no"
    };
}

/* The settings in which a document is not like another one. */
function nameOf(doc, other) {
    const mine = settingsOf(doc), theirs = settingsOf(other);
    const apart = Object.keys({...mine, ...theirs}).filter(key => mine[key] !== theirs[key]);
    return doc.model.name +
        (apart.length ?
             ": " + apart.filter(key => key !== "model").map(key => `${key} ${mine[key] ?? "-"}`).join(", ") :
             "");
}

const better = (x, y) => x === y ? "" : y < x ? "better" : "worse";
const cell = (text, classes = "num") => make("td", {class: classes}, text);

/* A row of numbers, of A and of B, and B / A; null where one has none. */
function factRow(name, show, x, y) {
    if (x === undefined || y === undefined) return null;
    const ratio = x ? (y / x).toFixed(3) : "";
    return make("tr", {}, cell(name, ""), cell(show(x)), cell(show(y)), cell(ratio, "num " + better(x, y)));
}

/* The settings in which they differ, and what came of them. */
function factRows(a, b) {
    const mine = settingsOf(a), theirs = settingsOf(b);
    const apart = Object.keys({...mine, ...theirs}).filter(name => mine[name] !== theirs[name]);
    const settings = apart.map(
        key => make(
            "tr", {}, cell(key, "mono"), cell(String(mine[key] ?? "-")), cell(String(theirs[key] ?? "-")),
            make("td", {})));
    const fact = (name, show, of) => factRow(name, show, of(a), of(b));
    const facts = [
        fact("a run", timeOf, d => d.bench && d.bench.run_ns),
        fact("work", x => countOf(x, "FLOP"), d => d.totals.flops),
        fact("kernels", String, d => d.totals.kernels), fact("calls", String, d => d.totals.calls),
        fact("nodes", String, d => d.graphs[d.graphs.length - 1].nodes),
        fact("arena", bytesOf, d => d.totals.arena_bytes),
        fact("weights", bytesOf, d => d.totals.weights_bytes),
        fact("lines of C", String, d => d.c.lines.length)
    ];
    return [...settings.reverse(), ...facts.filter(f => f)];
}

/* A kernel of one side, and the numbers of both; a click shows it. */
function kernelRow(side, kernel, show, x, y) {
    const {name, kind} = side.data.kernels[kernel], known = x !== undefined && y !== undefined;
    return make(
        "tr", {class: "row", tabindex: "0", onclick: () => side.select(side.data.selectKernel(kernel), true)},
        make("td", {}, make("span", {class: "badge", style: colour(kind)}, name)),
        cell(x === undefined ? "-" : show(x)), cell(y === undefined ? "-" : show(y)),
        cell(known && x ? (y / x).toFixed(3) : "", "num " + (known ? better(x, y) : "")));
}

/* The kernels of A, the slowest first, each beside that of B which it is like, if no other was; then those
 * of B that are left. */
function kernelRows(a, b, show) {
    const taken = new Set();
    const rows = a.data.ranked.map(k => {
        const at = b.partner(a, k), lone = at < 0 || taken.has(at);
        if (!lone) taken.add(at);
        return kernelRow(a, k, show, a.data.weight[k], lone ? undefined : b.data.weight[at]);
    });
    const left = b.data.ranked.filter(k => !taken.has(k));
    return [...rows, ...left.map(k => kernelRow(b, k, show, undefined, b.data.weight[k]))];
}

/* The first rows, and a button for the others. */
function folded(rows, most) {
    const hidden = rows.slice(most);
    for (const row of hidden) row.hidden = true;
    const unfold = event => {
        for (const row of hidden) row.hidden = false;
        event.target.closest("tr").remove();
    };
    const button = make("button", {type: "button", onclick: unfold}, `${hidden.length} more`);
    return hidden.length ? [...rows, make("tr", {}, make("td", {colspan: 4}, button))] : rows;
}

function tableOfBoth(first, rows) {
    const names = [first, "A", "B", "B / A"];
    const head = names.map((name, i) => make("th", i ? {class: "num"} : {}, name));
    return make(
        "div", {class: "scroll"},
        make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)));
}

/* Facts of both, then their kernels, those of one title in one row. */
function comparison(a, b) {
    const measured = a.doc.bench && b.doc.bench, show = measured ? timeOf : x => countOf(x, "FLOP");
    return make(
        "section", {class: "card long"},
        make(
            "div", {class: "head"}, make("h2", {}, "Side by side"),
            make("span", {class: "hint"}, "A click on a kernel shows it on both sides.")),
        make(
            "div", {class: "both"}, tableOfBoth("fact", factRows(a.doc, b.doc)),
            tableOfBoth(
                measured ? "kernel, time" : "kernel, work", folded(kernelRows(a, b, show), 12))));
}

/* ---- the page ---- */

const ICONS = {
    mark:
        '<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" d="M14.5 2.2a10 10 0 1 0 7.3 14.2A8.2 8.2 0 0 1 14.5 2.2z"/></svg>',
    theme:
        '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="8" fill="none" stroke="currentColor" stroke-width="2"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/></svg>',
};

class App {
    constructor(doc) {
        this.doc = doc;
        this.root = document.getElementById("app");
        this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
        matchMedia("(prefers-color-scheme: dark)")
            .addEventListener("change", event => this.setTheme(event.matches ? "dark" : "light"));
        this.tipBox = make("div", {class: "tip", role: "tooltip"});
        this.sides = [new Side(this, doc.compilation, doc.against ? "A" : "")];
        if (doc.against) this.sides.push(new Side(this, doc.against, "B"));
        const main = make(
            "main", {}, doc.against ? comparison(...this.sides) : null,
            make("div", {class: "sides" + (doc.against ? " two" : "")}, this.sides.map(side => side.element)),
            make("section", {id: "print"}));
        this.root.append(
            this.header(), main,
            make("footer", {}, `crescent ${doc.crescent} · one file, no network · ? shows the keys`),
            this.tipBox, this.help());
        document.addEventListener("keydown", event => this.key(event));
        addEventListener("beforeprint", () => this.preparePrint());
        addEventListener("afterprint", () => {
            for (const side of this.sides) side.foldTable();
        });
        this.follow(decodeURIComponent(location.hash.slice(1)));
    }

    /* What stands behind the # of the address: light or dark, print, a kernel's name, a pass, with commas. */
    follow(hash) {
        for (const word of hash.split(",").filter(w => w)) {
            const side = this.sides[0], kernel = side.data.kernels.findIndex(k => k.name === word);
            const pass = side.doc.passes.findIndex(p => p.name === word);
            if (word === "light" || word === "dark") this.setTheme(word);
            else if (word === "print") this.preparePrint();
            else if (kernel >= 0)
                requestAnimationFrame(() => side.select(side.data.selectKernel(kernel), true));
            else if (pass >= 0) side.setPass(pass);
        }
    }

    /* The document beside one. */
    other(doc) { return doc === this.doc.against ? this.doc.compilation : this.doc.against; }

    setTheme(theme) {
        this.theme = theme;
        document.documentElement.dataset.theme = theme;
        for (const side of this.sides || []) side.drawArenaLater();
    }

    header() {
        const model = this.doc.compilation.model, mark = make("span", {class: "mark"}),
              toggle = make("button", {
                  class: "icon",
                  type: "button",
                  title: "light or dark (t)",
                  "aria-label": "light or dark",
                  onclick: () => this.setTheme(this.theme === "dark" ? "light" : "dark")
              });
        mark.innerHTML = ICONS.mark;
        toggle.innerHTML = ICONS.theme;
        this.input = make("input", {
            type: "search",
            placeholder: "Search lines, nodes, kernels, C",
            "aria-label": "search",
            oninput: () => this.search(),
            onfocus: () => this.search(),
            onkeydown: event => this.searchKey(event)
        });
        this.results = make("div", {class: "results", hidden: "", role: "listbox"});
        return make(
            "header", {}, mark, make("h1", {}, model.name), make("span", {class: "where"}, model.path),
            make("span", {class: "space"}),
            make("div", {class: "search"}, this.input, make("kbd", {}, "/"), this.results), toggle,
            make(
                "button", {
                    class: "icon",
                    type: "button",
                    title: "keys (?)",
                    "aria-label": "keys",
                    onclick: () => this.dialog.showModal()
                },
                "?"));
    }

    help() {
        const keys = [
            ["/", "search"], ["← →", "the pass before, the next pass"],
            ["↑ ↓ Enter", "rows of the pane or table that has the focus"],
            ["0 1 2 3 4", "the model, Lua, graph, kernels, C"],
            ["n  p", "the next slowest kernel, the one before"],
            ["f", "fold or unfold the layers"], ["c", "of a pass only what it changed"],
            ["t", "light or dark"], ["Esc", "let go of what is selected"], ["?", "this"]
        ];
        return this.dialog = make(
                   "dialog", {"aria-label": "keys"}, make("h2", {}, "Keys"),
                   make(
                       "dl", {},
                       keys.flatMap(
                           ([key, text]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)])),
                   make(
                       "p", {class: "muted"},
                       "Hovering lights up what belongs together in all panes; a click keeps it. Bold: a value that is stored. ∂: a part of the backward pass. In bars the solid part is the least time that the machine allows."),
                   make("form", {method: "dialog", style: "text-align:right"}, make("button", {}, "Close")));
    }

    tip(event, text) {
        const box = this.tipBox;
        if (!event) {
            box.style.visibility = "hidden";
            return;
        }
        box.textContent = text;
        box.style.visibility = "visible";
        const left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)),
              top = event.clientY + 16 + box.offsetHeight > innerHeight ?
            event.clientY - box.offsetHeight - 10 :
            event.clientY + 16;
        box.style.transform = `translate(${left}px, ${top}px)`;
    }

    onSelect(side, selection) {
        for (const other of this.sides)
            if (other !== side) other.mirror(side, selection);
    }

    /* -- searching -- */

    search() {
        const words = this.input.value.toLowerCase().split(/\s+/).filter(w => w);
        this.found = words.length ? this.sides.flatMap(side => side.find(words)) : [];
        this.at = 0;
        this.results.hidden = !words.length;
        this.results.replaceChildren(...(
            this.found.length ?
                this.found.map(
                    (f, i) => make(
                        "div", {
                            role: "option",
                            "aria-selected": i === 0,
                            onpointerdown: event => {
                                event.preventDefault();
                                this.take(i);
                            }
                        },
                        make("span", {class: "what"}, f.what + (f.side.letter ? " " + f.side.letter : "")),
                        make("span", {class: "text"}, f.text), make("span", {class: "place"}, f.place))) :
                words.length ? [make("div", {class: "muted"}, "nothing has these words")] :
                               []));
    }

    searchKey(event) {
        event.stopPropagation();
        if (event.key === "Escape") {
            this.input.value = "";
            this.search();
            this.input.blur();
        } else if (event.key === "Enter") this.take(this.at);
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            this.at =
                Math.max(0, Math.min(this.found.length - 1, this.at + (event.key === "ArrowDown" ? 1 : -1)));
            [...this.results.children].forEach((row, i) => row.setAttribute("aria-selected", i === this.at));
            if (this.results.children[this.at])
                this.results.children[this.at].scrollIntoView({block: "nearest"});
            event.preventDefault();
        }
    }

    take(i) {
        const f = this.found[i];
        if (!f) return;
        this.results.hidden = true;
        this.input.blur();
        f.side.select(f.select(), true);
        if (f.what === "Lua") f.side.showTab(0);
    }

    /* -- keys -- */

    passKey(event, side) {
        const step = {ArrowLeft: -1, ArrowRight: 1, Home: -99, End: 99}[event.key];
        if (!step) return false;
        side.setPass(side.pass + step);
        event.preventDefault();
        event.stopPropagation();
        return true;
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || this.dialog.open || event.target === this.input)
            return;
        const side = this.sides.find(s => s.element.contains(document.activeElement)) || this.sides[0];
        if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && this.passKey(event, side)) return;
        const pane = "12340".indexOf(event.key);
        if (event.key === "/") this.input.focus();
        else if (event.key === "?") this.dialog.showModal();
        else if (event.key === "Escape") {
            for (const s of this.sides) {
                s.hover(null);
                s.select(null, false);
            }
            this.tip(null);
        } else if (event.key === "t") this.setTheme(this.theme === "dark" ? "light" : "dark");
        else if (event.key === "f") side.foldAll();
        else if (event.key === "c") {
            side.onlyChanges = !side.onlyChanges;
            side.setPass(side.pass);
        } else if (event.key === "n" || event.key === "p") {
            const ranked = side.data.ranked,
                  at = side.selected ? ranked.indexOf(side.selected.mainKernel) : -1;
            const next = Math.max(0, Math.min(ranked.length - 1, at + (event.key === "n" ? 1 : -1)));
            side.select(side.data.selectKernel(ranked[next]), true);
        } else if (pane >= 0 && event.key.length === 1) {
            side.showTab(pane);
            side.panesElement.scrollIntoView({block: "nearest"});
            side.views[pane].element.focus({preventScroll: true});
        } else return;
        event.preventDefault();
    }

    /* -- paper: lists draw what is seen, so a print has tables of its own -- */

    preparePrint() {
        const box = document.getElementById("print"), parts = [];
        for (const side of this.sides) {
            side.unfoldTable();
            const {doc, data} = side,
                        title = text => make("h2", {}, (side.letter ? side.letter + ": " : "") + text);
            const passes = doc.passes.map(
                (p, i) => make(
                    "tr", {}, make("td", {class: "mono"}, p.name), make("td", {}, p.doc),
                    make("td", {class: "num"}, String(doc.graphs[p.graph].nodes)),
                    make(
                        "td", {class: "num"},
                        p.added ? `−${p.removed.length} +${p.added.length} ~${p.rewired.length}` : ""),
                    make("td", {class: "num"}, side.gain(i))));
            parts.push(make(
                "section", {class: "card long"}, make("div", {class: "head"}, title("Passes")),
                make(
                    "table", {},
                    make(
                        "thead", {},
                        make(
                            "tr", {},
                            ["pass", "what it does", "nodes", "changed", "made"].map(
                                t => make("th", {}, t)))),
                    make("tbody", {}, passes))));
            const about =
                data.ranked.map(k => data.kernels[k].name + ": " + data.kernels[k].about).join("\n\n");
            parts.push(make(
                "section", {class: "card long"}, make("div", {class: "head"}, title("Kernels")),
                make("pre", {}, about)));
            const script = doc.sources[0];
            if (script) {
                const share =
                    new Map(data.tables.lines.map(([file, line], i) => [file + ":" + line, data.heat[i]]));
                const lines = script.map((text, i) => {
                    const h = share.get("0:" + (i + 1)) || 0;
                    return String(i + 1).padStart(4) + (h > .0005 ? percent(h).padStart(6) : "      ") +
                        "  " + text;
                });
                parts.push(make(
                    "section", {class: "card long"},
                    make(
                        "div", {class: "head"},
                        title(`${data.tables.files[0]}, with the share of each line`)),
                    make("pre", {}, lines.join("\n"))));
            }
        }
        box.replaceChildren(...parts);
    }
}

const app = new App(JSON.parse(document.getElementById("document").textContent));
