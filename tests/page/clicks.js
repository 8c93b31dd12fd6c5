/*
 * clicks.js - clicks through a report of crescent explain, and says in it what was found: tests/explain.sh
 * puts it behind the script of a page, whose `app` and tools it sees.
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
            for (const list of side.lists) list.update();
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
        const side = this.app.sides.find(s => s.lists.includes(list));
        if (list.element.clientHeight) return;
        side.showTab(side.lists.indexOf(list));
        this.settle();
        if (side.selected) side.reveal(side.selected);
        this.settle();
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
        const isFull = p => getComputedStyle(p).display === "none" || p.querySelector(".r");
        this.check("panes are not empty", [...document.querySelectorAll(".pane")].every(isFull));
    }

    run() {
        this.settle();
        this.noOverflow("at first");
        for (const part of ["kernels", "lines", "passes", "search", "keys", "frames", "arena", "sides", "paper"])
            this[part]();
        this.noOverflow("at the end");
        this.emptiness();
    }
}

/* What was found, as JSON in the document. */
function clickThrough() {
    const clicks = new Clicks(app), {results} = clicks;
    try {
        clicks.run();
    } catch (error) { results.error = String(error && error.stack || error); }
    results.ok = !results.error && Object.values(results.checks).every(x => x);
    document.body.append(make("script", {type: "application/json", id: "clicked"}, JSON.stringify(results)));
}

clickThrough();
