// The flame graph on the page: only frames that are wide enough and in sight are elements. It is a tree for screen readers,
// with one focusable frame at a time.

const ROW = 22;
const NARROWEST = 2;

class FlameView {
  constructor(flame, per) {
    this.flame = flame;
    this.per = per;
    const part = (id) => document.getElementById(`flame-${id}`);
    this.graph = part("graph");
    this.value = part("value");
    this.language = part("language");
    this.search = part("search");
    this.reverse = part("reverse");
    this.reset = part("reset");
    this.summary = part("said");
    this.frameDetails = part("frame");
    this.prepare();
    this.listen();
    this.rebuild();
  }

  prepare() {
    const growth = this.value.options[2];
    growth.textContent = `growth per ${this.per}`;
    if (this.flame.total[2] > 0) this.value.value = "2";
    else growth.remove();
    if (!this.flame.kinds.some((kind) => kind === 1 || kind === 2)) this.language.closest("label").remove();
    this.canvas = element("div", "canvas");
    this.canvas.setAttribute("role", "tree");
    this.canvas.setAttribute("aria-label", "Flame graph");
    this.graph.replaceChildren(this.canvas);
  }

  listen() {
    for (const choice of [this.value, this.language]) choice.addEventListener("change", () => this.rebuild());
    this.search.addEventListener("input", () => {
      this.draw();
      this.scrollToHit();
    });
    this.reverse.addEventListener("click", () => {
      const pressed = this.reverse.getAttribute("aria-pressed") !== "true";
      this.reverse.setAttribute("aria-pressed", String(pressed));
      this.rebuild();
    });
    this.reset.addEventListener("click", () => this.zoom(this.view.root));
    this.graph.addEventListener("scroll", () => this.show());
    this.canvas.addEventListener("click", (event) => this.on(event, (box) => this.zoom(box)));
    this.canvas.addEventListener("pointerover", (event) => this.on(event, (box) => this.describe(box)));
    this.canvas.addEventListener("focusin", (event) => this.on(event, (box) => this.describe(box)));
    this.canvas.addEventListener("keydown", (event) => this.on(event, (box) => this.key(event, box)));
    new ResizeObserver(() => this.draw()).observe(this.graph);
  }

  on(event, what) {
    const target = event.target.closest("[role=treeitem]");
    if (target) what(target.box);
  }

  rebuild() {
    const reversed = this.reverse.getAttribute("aria-pressed") === "true";
    this.view = new FlameTree(this.flame, Number(this.value.value), this.language.value, reversed);
    this.graph.scrollTop = 0;
    this.zoom(this.view.root);
  }

  zoom(box) {
    this.top = box;
    this.current = box;
    this.reset.disabled = box === this.view.root;
    this.draw();
    this.describe(box);
  }

  draw() {
    this.width = this.canvas.clientWidth;
    if (!this.width) return;
    const words = this.search.value.trim();
    this.hits = words ? this.flame.find(words) : null;
    this.layOut();
    this.canvas.style.height = `${this.rows.length * ROW}px`;
    this.show();
    this.summarize(words);
  }

  // The first match may be outside the visible part.
  scrollToHit() {
    if (!this.hits) return;
    const levels = this.rows.map((row) => row.some(({ box }) => box.frame >= 0 && this.hits[box.frame]));
    const first = levels.indexOf(true);
    if (first >= 0) this.reveal(first);
  }

  reveal(level) {
    const top = level * ROW;
    const { scrollTop, clientHeight } = this.graph;
    if (top < scrollTop) this.graph.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.graph.scrollTop = top + 3 * ROW - clientHeight;
    this.show();
  }

  layOut() {
    const path = [];
    for (let box = this.top; box; box = box.parent) path.unshift(box);
    this.rows = path.map((box) => [{ box, x: 0, width: this.width }]);
    for (let level = this.rows.length - 1; level < this.rows.length; level += 1) {
      const below = this.rows[level].flatMap((one) => this.spread(one));
      if (below.length) this.rows.push(below);
    }
    this.spots = new Map();
    this.rows.forEach((row, level) => row.forEach((one, at) => this.spots.set(one.box, { ...one, level, at })));
  }

  spread({ box, x, width }) {
    const scale = box.bytes ? width / box.bytes : 0;
    const boxes = [];
    let left = x;
    for (const child of this.view.children(box)) {
      const wide = child.bytes * scale;
      if (wide < NARROWEST) break;
      boxes.push({ box: child, x: left, width: wide });
      left += wide;
    }
    return boxes;
  }

  show() {
    if (!this.spots.has(this.current)) this.current = this.top;
    const hadFocus = this.canvas.contains(document.activeElement);
    const first = Math.max(0, Math.floor(this.graph.scrollTop / ROW) - 4);
    const last = Math.ceil((this.graph.scrollTop + this.graph.clientHeight) / ROW) + 4;
    const near = this.rows.slice(first, last).flatMap((row, at) => row.map((one) => this.item(one, first + at)));
    const { level } = this.spots.get(this.current);
    if (level < first || level >= last) near.push(this.item(this.spots.get(this.current), level));
    this.canvas.replaceChildren(...near);
    if (hadFocus) this.focused()?.focus({ preventScroll: true });
  }

  focused() {
    return this.canvas.querySelector("[tabindex='0']");
  }

  item({ box, x, width }, level) {
    const kind = box.frame < 0 ? WORD : this.flame.kinds[box.frame];
    const item = element("div", `box kind-${kind} tint-${box.frame % 3}`);
    if (this.hits) item.classList.add(box.frame >= 0 && this.hits[box.frame] ? "hit" : "dim");
    if (box !== this.top && this.isAbove(box)) item.classList.add("outside");
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", String(level + 1));
    item.setAttribute("aria-label", `${this.name(box)}, ${this.amount(box)}`);
    item.tabIndex = box === this.current ? 0 : -1;
    item.style.left = `${x}px`;
    item.style.top = `${level * ROW}px`;
    item.style.width = `${Math.max(width - 1, 1)}px`;
    if (width > 34) item.append(element("bdi", "", this.name(box)));
    item.box = box;
    return item;
  }

  isAbove(box) {
    for (let at = this.top.parent; at; at = at.parent) if (at === box) return true;
    return false;
  }

  name(box) {
    if (box.frame < 0) return this.view.reversed ? "all allocating functions" : "all";
    const line = this.flame.lines[box.frame];
    const file = this.flame.files[box.frame].split("/").pop();
    return line ? `${this.flame.names[box.frame]} (${file}:${line})` : this.flame.names[box.frame];
  }

  amount(box) {
    const per = this.view.value === 2 ? ` per ${this.per}` : "";
    return `${size(box.bytes)}${per}, ${percent(box.bytes, this.view.root.bytes)}`;
  }

  describe(box) {
    const name = element("bdi", "name", box.frame < 0 ? this.name(box) : this.flame.names[box.frame]);
    const parts = [name, element("span", "value", this.amount(box))];
    if (box.frame >= 0) {
      const location = this.flame.location(box.frame);
      const kind = KINDS[this.flame.kinds[box.frame]];
      if (location) parts.push(element("bdi", "location", location));
      if (kind) parts.push(element("span", "kind", kind));
    }
    this.frameDetails.replaceChildren(...parts);
  }

  summarize(words) {
    const all = this.view.root.bytes;
    const shown = `Total ${size(all)}${this.view.value === 2 ? ` per ${this.per}` : ""}`;
    if (!words) {
      this.summary.textContent = shown;
      return;
    }
    const bytes = this.flame.found(this.hits, this.view.value);
    const frames = this.hits.filter(Boolean).length;
    const word = frames === 1 ? "function matches" : "functions match";
    this.summary.textContent = `${shown}; ${count(frames)} ${word}, in stacks with ${size(bytes)} (${percent(bytes, all)})`;
  }

  key(event, box) {
    const { level, at } = this.spots.get(box);
    const row = this.rows[level];
    const moves = {
      ArrowUp: () => box.parent,
      ArrowDown: () => this.view.children(box).find((child) => this.spots.has(child)),
      ArrowLeft: () => row[at - 1]?.box,
      ArrowRight: () => row[at + 1]?.box,
      Home: () => this.top,
    };
    if (moves[event.key]) this.move(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") this.zoom(box);
    else if (event.key === "Escape") this.zoom(this.view.root);
    else return;
    event.preventDefault();
  }

  move(box) {
    if (!box || !this.spots.has(box)) return;
    this.current = box;
    this.reveal(this.spots.get(box).level);
    this.focused()?.focus({ preventScroll: true });
  }
}
