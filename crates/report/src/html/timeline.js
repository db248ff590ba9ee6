// The timeline: areas for the lines of the ledger, a line for the readings, marks, and a moment that can be chosen with the
// pointer or with the arrow keys.

class Chart {
  constructor(data, container, legend) {
    Object.assign(this, { data, container, legend });
    this.height = 300;
    this.margin = { left: 68, right: 12, top: 26, bottom: 30 };
    const { readings, ledgers } = data;
    this.areas = ledgers.length > 1;
    this.times = this.areas ? ledgers.map((row) => row[0]) : readings.map((row) => row[0]);
    this.chosen = this.times.length - 1;
    this.last = Math.max(...this.times, ...readings.map((row) => row[0]), 1);
    this.most = this.highest() * 1.06;
    this.sayWho();
    this.listen();
    this.draw();
  }

  highest() {
    const read = this.data.readings.map((row) => row[1]);
    const counted = this.data.ledgers.map((row) => row.slice(1).reduce((sum, value) => sum + value, 0));
    return Math.max(...read, ...counted, 1);
  }

  sayWho() {
    this.container.setAttribute("role", "slider");
    this.container.setAttribute("aria-label", "Time");
    this.container.setAttribute("aria-valuemin", "0");
    this.container.setAttribute("aria-valuemax", String(this.times.length - 1));
    this.container.tabIndex = 0;
  }

  listen() {
    new ResizeObserver(() => this.draw()).observe(this.container);
    this.container.addEventListener("pointermove", (event) => {
      const box = this.container.getBoundingClientRect();
      this.choose(this.nearest(this.timeAt(event.clientX - box.left)));
    });
    this.container.addEventListener("pointerleave", () => this.choose(this.times.length - 1));
    this.container.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9 };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.choose(this.chosen + step);
    });
  }

  x(time) {
    return this.margin.left + (time / this.last) * this.inner();
  }

  y(bytes) {
    const { top, bottom } = this.margin;
    return top + (1 - bytes / this.most) * (this.height - top - bottom);
  }

  inner() {
    return Math.max(this.width - this.margin.left - this.margin.right, 10);
  }

  timeAt(x) {
    return ((x - this.margin.left) / this.inner()) * this.last;
  }

  nearest(time) {
    let best = 0;
    this.times.forEach((other, at) => {
      if (Math.abs(other - time) < Math.abs(this.times[best] - time)) best = at;
    });
    return best;
  }

  draw() {
    const width = this.container.clientWidth;
    if (!width) return;
    this.width = width;
    const svg = shape("svg", { width, height: this.height, "aria-hidden": "true", focusable: "false" });
    this.drawScale(svg);
    if (this.areas) this.drawAreas(svg);
    this.drawReadings(svg);
    this.drawMarks(svg);
    this.cursor = shape("line", { class: "cursor", y1: this.margin.top, y2: this.height - this.margin.bottom });
    svg.append(this.cursor);
    this.container.replaceChildren(svg);
    this.choose(this.chosen);
  }

  drawScale(svg) {
    for (const bytes of ticks(this.most, 5, 1024)) {
      const y = this.y(bytes);
      svg.append(shape("line", { class: "grid", x1: this.margin.left, x2: this.width - this.margin.right, y1: y, y2: y }));
      svg.append(shape("text", { class: "tick", x: this.margin.left - 8, y: y + 4, "text-anchor": "end" }, shortSize(bytes)));
    }
    const room = Math.max(2, Math.min(8, Math.floor(this.inner() / 90)));
    for (const time of ticks(this.last, room, 1000)) {
      const x = this.x(time);
      const anchor = x > this.width - 40 ? "end" : "middle";
      svg.append(shape("text", { class: "tick", x, y: this.height - 10, "text-anchor": anchor }, shortTime(time)));
    }
  }

  drawAreas(svg) {
    const rows = this.data.ledgers;
    let below = rows.map(() => 0);
    this.data.layers.forEach((name, layer) => {
      const above = rows.map((row, at) => below[at] + row[layer + 1]);
      const upper = rows.map((row, at) => `${this.x(row[0])},${this.y(above[at])}`);
      const lower = rows.map((row, at) => `${this.x(row[0])},${this.y(below[at])}`).reverse();
      const area = shape("polygon", { class: `area layer-${this.data.colours[layer]}`, points: [...upper, ...lower].join(" ") });
      svg.append(area);
      below = above;
    });
  }

  drawReadings(svg) {
    const points = this.data.readings.map((row) => `${this.x(row[0])},${this.y(row[1])}`);
    svg.append(shape("polyline", { class: "reading", points: points.join(" ") }));
  }

  drawMarks(svg) {
    let free = 0;
    for (const [time, label] of this.data.marks) {
      const x = this.x(time);
      svg.append(shape("line", { class: "mark-line", x1: x, x2: x, y1: this.margin.top - 4, y2: this.height - this.margin.bottom }));
      const width = 6.5 * Math.min(label.length, 24);
      const left = Math.min(x + 4, this.width - width);
      if (left < free) continue;
      svg.append(shape("text", { class: "mark-label", x: left, y: this.margin.top - 10 }, label.length > 24 ? `${label.slice(0, 23)}…` : label));
      free = left + width + 8;
    }
  }

  choose(at) {
    this.chosen = Math.max(0, Math.min(this.times.length - 1, at));
    const time = this.times[this.chosen];
    if (this.cursor) {
      this.cursor.setAttribute("x1", this.x(time));
      this.cursor.setAttribute("x2", this.x(time));
    }
    this.say(time);
  }

  say(time) {
    const rows = this.values(time);
    const items = rows.map(([name, bytes, colour]) => {
      const item = element("li");
      item.append(element("span", `swatch ${colour}`), element("span", "name", name), element("span", "value", size(bytes)));
      return item;
    });
    const head = element("li", "moment");
    head.append(element("span", "name", "time"), element("span", "value", seconds(time)));
    this.legend.replaceChildren(head, ...items);
    const words = rows.map(([name, bytes]) => `${name} ${size(bytes)}`).join(", ");
    this.container.setAttribute("aria-valuenow", String(this.chosen));
    this.container.setAttribute("aria-valuetext", `at ${seconds(time)}: ${words}`);
  }

  values(time) {
    if (!this.areas) {
      const [, resident, live] = this.data.readings[this.chosen];
      return [["RSS", resident, "swatch-reading"], ["live heap", live, "swatch-none"]];
    }
    const row = this.data.ledgers[this.chosen];
    const all = row.slice(1).reduce((sum, value) => sum + value, 0);
    const lines = this.data.layers.map((name, layer) => [name, row[layer + 1], `layer-${this.data.colours[layer]}`]);
    return [["RSS", all, "swatch-reading"], ...lines.reverse()];
  }
}

// Round values from 0 to `most`, about so many: 1, 2 or 5 of a power of ten of a unit that is a power of `base`.
function ticks(most, wanted, base) {
  let unit = 1;
  while (unit * base <= most) unit *= base;
  const rough = most / unit / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power * unit;
  const found = [];
  for (let at = 0; at * step <= most; at += 1) found.push(at * step);
  return found;
}

function shortSize(bytes) {
  return bytes === 0 ? "0" : size(bytes).replace(/\.0+(?= )/, "").replace(/(\.\d)0(?= )/, "$1");
}

function shortTime(time) {
  return time === 0 ? "0 s" : seconds(time).replace(/\.0+(?= )/, "").replace(/(\.\d)0(?= )/, "$1");
}
