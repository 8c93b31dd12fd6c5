/*
 * clicks.js - clicks through a report of crescent explain, and says in the document around it what was
 * found: tests/explain.sh puts it behind the script of a page, whose `app` and tools it sees.
 *
 * No frame is waited for: what a frame would do is done at once, so that it can be timed before the page
 * counts as loaded.
 */
"use strict";

const middle = list => list[list.length >> 1];

class Clicks {
    constructor(app) {
        this.app = app;
        this.side = app.sides[0];
        this.data = this.side.data;
        this.results = {checks: {}, frames: {}};
    }

    /* ---- tools ---- */

    check(name, holds) {
        this.results.checks[name] = !!holds;
    }

    /* What the next frame would draw. */
    update() {
        for (const side of this.app.sides) {
            for (const view of side.views) view.update();
            side.drawArena();
        }
    }

    settle() {
        this.update();
        void document.body.offsetHeight;
    }

    click(element) {
        element.click();
        this.settle();
    }

    press(key) {
        document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    }

    /* Where panes are tabs, the one of that list comes to the front. */
    front(list) {
        const side = this.app.sides.find(s => s.views.includes(list));
        if (list.element.clientHeight) return;
        this.click(side.tabButtons[side.views.indexOf(list)]);
    }

    /* The rows of a list that have a class and can be seen. */
    seen(list, name) {
        this.front(list);
        const pane = list.element.getBoundingClientRect();
        return [...list.element.querySelectorAll(".r." + name)].filter(row => {
            const box = row.getBoundingClientRect();
            return box.bottom > pane.top && box.top < pane.bottom;
        });
    }

    /* Whether elements lie inside of what a pane shows, and of the window below the head of the page. */
    inWindow(view, elements) {
        const pane = view.element.getBoundingClientRect(),
              head = document.querySelector("header").getBoundingClientRect().bottom;
        return elements.length > 0 && elements.some(element => {
            const box = element.getBoundingClientRect();
            return box.top >= Math.max(pane.top, head) - 1 &&
                box.bottom <= Math.min(pane.bottom, innerHeight) + 1 &&
                box.left < Math.min(pane.right, innerWidth);
        });
    }

    /* Every pane that is not a hidden tab shows in the window what is meant, and hidden ones do when they
     * come to the front. */
    allInWindow(what) {
        const {side} = this, rows = list => [...list.element.querySelectorAll(".r.main, .r.sel")];
        const now = side.views.filter(view => view.element.clientHeight);
        for (const view of [...now, ...side.views.filter(v => !now.includes(v))]) {
            this.front(view);
            const lit = view === side.drawing ? [...view.element.querySelectorAll(".part.main, .part.sel")] :
                                                rows(view);
            const name = view.element.getAttribute("aria-label");
            this.check(`${what}: ${name} in the window`, this.inWindow(view, lit));
        }
    }

    /* The page from its top, with nothing selected. */
    fromTop() {
        this.press("Escape");
        scrollTo(0, 0);
        this.settle();
    }

    /* What script, style and layout take in a frame, in the middle and at worst. */
    time(name, n, act) {
        const took = [];
        for (let i = 0; i < n; i++) {
            const start = performance.now();
            act(i);
            this.settle();
            took.push(performance.now() - start);
        }
        took.sort((a, b) => a - b);
        this.results.frames[name] = {median_ms: middle(took), most_ms: took[n - 1]};
    }

    noOverflow(when) {
        this.check(`no overflow ${when}`, document.documentElement.scrollWidth <= innerWidth);
    }

    /* ---- what is clicked ---- */

    /* From the slowest kernel to its line: two clicks. */
    kernels() {
        const {side, data} = this, slowest = data.ranked[0];
        this.check("slowest kernel is first", side.rowsOfTable[0].dataset.kernel === String(slowest));
        for (const row of side.rowsOfTable.slice(0, 6)) {
            this.fromTop();
            this.click(row);
            this.allInWindow(`a click on ${row.textContent.slice(0, 12)} at ${innerWidth}x${innerHeight}`);
        }
        this.fromTop();
        this.click(side.rowsOfTable[0]);
        this.check("a click on a kernel shows its line", this.seen(side.luaList, "main").length > 0);
        this.check("and its node", this.seen(side.graphList, "main").length > 0);
        this.check("and itself", this.seen(side.kernelList, "main").length === 1);
        this.check("and its C", this.seen(side.cList, "main").length > 0);
        this.check("and what it is", side.detail.textContent.includes(data.kernels[slowest].name));
        const line = data.mainLines(slowest)[0], main = this.seen(side.luaList, "main");
        this.check("that line is the kernel's", main.some(row => side.luaRows[row.index].line === line));
    }

    /* From there to nodes, kernels and C, and back. */
    lines() {
        const {side, data} = this;
        this.click(this.seen(side.luaList, "main")[0]);
        const nodes = this.seen(side.graphList, "sel").length + this.seen(side.graphList, "main").length;
        this.check("a click on a line shows nodes", nodes > 0);
        this.check("and the kernel", side.selected.kernels.has(data.ranked[0]));
        const call = this.seen(side.cList, "sel")[0];
        this.check("and lines of C", call);
        if (call) this.click(call);
        this.check("a click on C shows a kernel", side.selected.mainKernel !== undefined);
        this.press("Escape");
        this.settle();
        const isFree = list => !list.element.clientHeight || !list.element.querySelector(".r.main");
        this.check("Esc lets go", !side.selected && side.lists.every(isFree));
    }

    /* The slider, to every pass, and what one of them changed. */
    passes() {
        const {side} = this, {passes} = side.doc;
        this.front(side.graphList);
        for (let i = 0; i < passes.length; i++) {
            side.setPass(i);
            this.settle();
            this.check("rows after " + passes[i].name, side.graphList.pool.some(row => row.textContent));
        }
        const changing = passes.findIndex(p => p.added && p.added.length + p.removed.length);
        if (changing >= 0) {
            side.onlyChanges = true;
            side.setPass(changing);
            this.settle();
            const marked = side.graphList.element.querySelector(".added, .removed, .rewired");
            this.check("changes are marked", marked);
            side.onlyChanges = false;
        }
        this.press("End");
        side.setPass(passes.length - 1);
    }

    search() {
        const {app} = this;
        app.input.value = this.data.kernels[0].name;
        app.search();
        this.check("search finds a kernel", app.found.some(f => f.what === "kernel"));
        app.take(0);
        this.settle();
        this.check("and takes it", this.side.selected);
        this.searchLua();
    }

    /* Lines of Lua, those too from which no node comes. */
    searchLua() {
        const {app, side} = this;
        const findsRow = (words, isGood) => {
            this.fromTop();
            app.input.value = words;
            app.search();
            const at = app.found.findIndex(f => f.what === "Lua" && isGood(f.text));
            this.check(`search finds the line of ${words}`, at >= 0);
            if (at < 0) return;
            app.take(at);
            this.settle();
            const main = this.seen(side.luaList, "main").filter(row => isGood(row.textContent));
            this.check(`${words}: its line in the window`, this.inWindow(side.luaList, main));
        };
        const texts = side.luaRows.map(row => row.text || "");
        for (const name of ["nn.gelu", "nn.softmax"]) {
            const definition = `function ${name}(`;
            if (!texts.some(text => text.includes(definition))) continue;
            this.results.definitions = (this.results.definitions || 0) + 1;
            findsRow(name, text => text.includes(definition));
        }
        const bare = side.luaRows.findIndex(
            (row, i) => /=.*nn\.\w+\(/.test(row.text || "") && !side.hasNodes(row));
        if (bare >= 0) findsRow(texts[bare].trim(), text => text.includes(texts[bare].trim()));
        const comment = side.luaRows.find(row => /^-- \w+ \w+ \w+/.test(row.text || ""));
        if (comment) findsRow(comment.text, text => text.includes(comment.text));
    }

    /* The drawing: its layers, a click on a part and on a kernel of it, and what a click elsewhere lights. */
    model() {
        const {side, data} = this, {drawing, graphRows} = side;
        this.front(drawing);
        const counts = [...drawing.element.querySelectorAll(".block h3 b")].map(b => b.textContent);
        const folded = graphRows.groupsOf(data.graph).filter(g => g.runs.length > 1);
        const expected = folded.map(g => "× " + g.runs.length);
        this.check("layers that are alike are drawn once", counts.join() === expected.join());
        this.results.parts = drawing.elements.length;
        this.check("the drawing is small", drawing.elements.length < 400);
        const drawn = data.calls.filter(call => drawing.partOfNode[call.main] >= 0).length;
        this.check("every call has a part", drawn === data.calls.length);
        for (let i = 0; i < Math.min(drawing.elements.length, 12); i++) {
            this.fromTop();
            this.front(drawing);
            this.click(drawing.elements[i]);
            const nodes = new Set(drawing.parts[i].nodes), {selected} = side;
            this.check("a click on a part selects its nodes", selected.nodes.size === nodes.size &&
                [...selected.nodes].every(id => nodes.has(id)));
            this.check("and marks it", drawing.elements[i].classList.contains("main"));
            this.check("and its node is seen", this.seen(side.graphList, "main").length > 0);
            const lines = ["sel", "main"].map(name => this.seen(side.luaList, name).length);
            this.check("and a line", lines[0] + lines[1] > 0);
        }
        this.front(drawing);
        const chip = drawing.element.querySelector("[data-kernel]");
        this.click(chip);
        const kernel = Number(chip.dataset.kernel);
        this.check("a click on its kernel selects that", side.selected.mainKernel === kernel);
        const layers = folded[0], last = layers && layers.runs[layers.runs.length - 1];
        const id = last && last.nodes.find(node => drawing.partOfNode[node] >= 0);
        if (id !== undefined) {
            side.select(data.selectNode(id), true);
            this.settle();
            this.check("a node of the last layer lights the part of all", this.lit().length === 1);
        }
        this.press("Escape");
        this.settle();
        this.check("Esc darkens it", this.lit().length === 0);
    }

    lit() { return [...this.side.drawing.element.querySelectorAll(".part.sel, .part.main")]; }

    /* What is said of a kernel is as wide as its pane, and what is said of an error in words. */
    details() {
        const {side, data} = this;
        const said = () => [...side.detail.querySelectorAll("dd")].map(dd => dd.textContent);
        for (const kernel of data.ranked.slice(0, 8)) {
            side.select(data.selectKernel(kernel), true);
            this.front(side.kernelList);
            this.check("details are not clipped", side.detail.scrollWidth <= side.detail.clientWidth);
            if (side.doc.check && data.error[kernel])
                this.check(
                    "an error is judged", said().some(text => /^(more than )?usual|^unusual/.test(text)));
        }
        if (!side.doc.check) return;
        const judge = (max_ulp, roundings) => data.judge({max_ulp, roundings}).short;
        const narrow = side.doc.model.format || side.doc.model.arithmetic;
        this.check("10 ulp are usual", judge(10, 1) === "usual");
        this.check("100 ulp are usual after 2000 roundings", judge(100, 2000) === "usual");
        this.check("2^23 ulp never are", judge(2 ** 23, 2000) === "more than usual");
        this.check("no number is not", judge(null, 2000) === "unusual");
        if (!narrow) this.check("5000 ulp are not after 2000", judge(5000, 2000) === "more than usual");
    }

    /* The tiles of figures fill their rows, whether their number is even or odd. */
    tiles() {
        for (const box of document.querySelectorAll(".figures")) {
            this.fullRows(box);
            box.lastChild.style.display = "none";
            this.fullRows(box);
            box.lastChild.style.display = "";
        }
    }

    fullRows(box) {
        const right = box.getBoundingClientRect().right, rows = new Map();
        for (const tile of box.children) {
            const {top, right: end, width} = tile.getBoundingClientRect();
            if (width) rows.set(top, Math.max(rows.get(top) || 0, end));
        }
        this.check("no empty tile", [...rows.values()].every(end => Math.abs(end - right) < 2));
    }

    /* Text that is seen has a contrast of 4.5 with what is behind it, in both themes; grounds that are not
     * opaque are mixed with those behind them. */
    contrast() {
        const parse = colour => (colour.match(/[\d.]+/g) || []).map(Number);
        const scale = (colour, [r, g, b, a = 1]) =>
            colour.startsWith("color(") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
        const rgb = colour => scale(colour, parse(colour));
        const over = ([r, g, b, a], under) => [r, g, b].map((x, i) => x * a + under[i] * (1 - a));
        const groundOf = element => {
            if (!element) return [255, 255, 255];
            const own = rgb(getComputedStyle(element).backgroundColor);
            return own[3] === 1 ? own.slice(0, 3) : over(own, groundOf(element.parentElement));
        };
        const light = rgb => {
            const linear = x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
            const [r, g, b] = rgb.map(x => linear(x / 255));
            return .2126 * r + .7152 * g + .0722 * b;
        };
        for (const theme of ["light", "dark"]) {
            this.app.setTheme(theme);
            this.settle();
            let texts = 0, least = 21;
            for (const element of document.querySelectorAll("#app *")) {
                const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
                if (!own || !element.checkVisibility()) continue;
                const ground = groundOf(element), colour = over(rgb(getComputedStyle(element).color), ground);
                const [a, b] = [light(ground), light(colour)].sort((x, y) => x - y);
                const ratio = (b + .05) / (a + .05), text = element.textContent.slice(0, 30);
                texts++;
                if (ratio < least) least = ratio;
                if (ratio < 4.5)
                    this.check(`${theme}: "${text}" (${element.className}) ${ratio.toFixed(2)}`, false);
            }
            this.results["contrast_" + theme] = least;
            this.check(`${theme}: texts were measured`, texts > 50);
        }
    }

    keys() {
        const theme = () => document.documentElement.dataset.theme, before = theme();
        this.press("t");
        this.check("t changes the theme", theme() !== before);
        this.press("t");
        this.press("?");
        this.check("? shows the keys", this.app.dialog.open);
        this.app.dialog.close();
    }

    /* Frames, with all layers unfolded. */
    frames() {
        const {side, data} = this, list = side.graphList.element;
        for (const group of side.graphRows.groups)
            if (group.runs.length > 1)
                this.results.folded = Math.max(this.results.folded || 0, group.runs.length);
        side.graphRows.open = new Set(side.graphRows.groups.map((g, i) => i));
        side.drawGraph();
        this.settle();
        this.results.rows = side.graphRows.rows.length;
        const most = list.scrollHeight;
        this.time("scroll", 60, i => {
            list.scrollTop = most * i / 60;
            side.cList.element.scrollTop += 400;
        });
        this.time("hover", 60, i => side.hover(data.selectNode(Math.floor(data.graph.nodes * i / 60))));
        this.time("select", 30, i => side.select(data.selectKernel(i % data.kernels.length), true));
        side.hover(null);
        side.graphRows.open.clear();
        side.drawGraph();
        this.time("pass", 24, i => side.setPass(i % side.doc.passes.length));
        side.setPass(side.doc.passes.length - 1);
    }

    /* Whether the canvas has more than one colour. */
    arena() {
        const {canvas, doc} = this.side;
        const pixels = () =>
            canvas.getContext("2d").getImageData(canvas.width >> 1, 0, 1, canvas.height).data;
        this.check(
            "the arena is drawn", !doc.arena.length || pixels().some((x, i, all) => x !== all[i % 4]));
    }

    sides() {
        const {app, side, data} = this, rows = document.querySelectorAll(".r").length;
        this.check("rows drawn are few", rows < 600 * app.sides.length);
        if (!app.sides[1]) return;
        side.select(data.selectKernel(data.ranked[0]), true);
        this.check("the other side follows", app.sides[1].selected);
    }

    paper() {
        const {app, side} = this;
        app.preparePrint();
        const rows = document.querySelectorAll("#print tbody tr").length;
        this.check("paper has the passes", rows >= side.doc.passes.length);
        for (const s of app.sides) s.foldTable();
        this.click(side.rowsOfTable[0]);
    }

    emptiness() {
        const isFull = p => getComputedStyle(p).display === "none" || p.querySelector(".r, .part");
        this.check("panes are not empty", [...document.querySelectorAll(".pane")].every(isFull));
    }

    run() {
        this.settle();
        this.noOverflow("at first");
        const parts = [
            "tiles", "kernels", "lines", "passes", "search", "model", "details", "keys", "frames", "arena",
            "sides", "contrast", "paper"
        ];
        for (const part of parts) this[part]();
        this.noOverflow("at the end");
        this.emptiness();
    }
}

/* What was found, as JSON in the document whose frame this is. */
function clickThrough() {
    const clicks = new Clicks(app), {results} = clicks;
    try {
        clicks.run();
    } catch (error) { results.error = String(error && error.stack || error); }
    results.ok = !results.error && Object.values(results.checks).every(x => x);
    top.document.body.append(
        make("script", {type: "application/json", id: "clicked"}, JSON.stringify(results)));
}

clickThrough();
