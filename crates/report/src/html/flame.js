// The tree of stacks, and views of it: top-down or inverted, with the frames of one language or of both. A view is built as far as
// it is drawn: children are collected when a frame is wide enough to be seen.

const KINDS = ["native", "Python, your code", "Python library", ""];
const WORD = 3;

class Flame {
  constructor(data, strings) {
    const nodes = data.depth.length + 1;
    this.total = data.total;
    this.frame = new Int32Array(nodes).fill(-1);
    this.parent = new Int32Array(nodes);
    this.readFrames(data.frames, strings);
    this.readTree(data);
    this.own = data.own.map((pairs) => this.readOwn(pairs, nodes));
    this.sums = this.own.map((own) => this.sumUp(own));
  }

  readFrames(frames, strings) {
    this.names = frames.name.map((at) => strings[at]);
    this.files = frames.file.map((at) => strings[at]);
    this.lines = frames.line;
    this.kinds = frames.kind;
  }

  readTree({ depth, frame }) {
    const path = [0];
    this.first = new Int32Array(depth.length + 1).fill(-1);
    this.next = new Int32Array(depth.length + 1).fill(-1);
    const youngest = new Int32Array(depth.length + 1).fill(-1);
    depth.forEach((level, at) => {
      const node = at + 1;
      const parent = path[level - 1];
      path[level] = node;
      this.frame[node] = frame[at];
      this.parent[node] = parent;
      if (youngest[parent] < 0) this.first[parent] = node;
      else this.next[youngest[parent]] = node;
      youngest[parent] = node;
    });
  }

  readOwn(pairs, nodes) {
    const own = new Float64Array(nodes);
    let node = 0;
    for (let at = 0; at < pairs.length; at += 2) {
      node += pairs[at];
      own[node] = pairs[at + 1];
    }
    return own;
  }

  sumUp(own) {
    const sums = own.slice();
    for (let node = sums.length - 1; node > 0; node -= 1) sums[this.parent[node]] += sums[node];
    return sums;
  }

  location(frame) {
    const file = this.files[frame];
    const line = this.lines[frame];
    return file && line ? `${file}:${line}` : file;
  }

  // Which frames a search finds.
  find(words) {
    const wanted = words.toLowerCase();
    return this.names.map((name, at) => `${name} ${this.location(at)}`.toLowerCase().includes(wanted));
  }

  // Bytes of all stacks that have a frame that was found.
  found(hits, value) {
    const inside = new Uint8Array(this.frame.length);
    let sum = 0;
    for (let node = 1; node < inside.length; node += 1) {
      inside[node] = inside[this.parent[node]];
      if (!inside[node] && hits[this.frame[node]]) {
        inside[node] = 1;
        sum += this.sums[value][node];
      }
    }
    return sum;
  }
}

class FlameTree {
  constructor(flame, value, language, reversed) {
    Object.assign(this, { flame, value, language, reversed });
    this.root = { frame: -1, bytes: flame.total[value], parent: null, nodes: [0], weights: null, children: null };
  }

  isShown(node) {
    const kind = this.flame.kinds[this.flame.frame[node]];
    if (this.language === "mixed" || kind === WORD) return true;
    return (this.language === "python") === (kind !== 0);
  }

  children(box) {
    if (!box.children) {
      const found = new Map();
      if (!this.reversed) this.below(box, found);
      else if (box === this.root) this.innermost(found, box);
      else this.above(box, found);
      box.children = [...found.values()].sort((one, other) => other.bytes - one.bytes);
    }
    return box.children;
  }

  add(found, parent, node, bytes) {
    const frame = this.flame.frame[node];
    let box = found.get(frame);
    if (!box) {
      box = { frame, bytes: 0, parent, nodes: [], weights: this.reversed ? [] : null, children: null };
      found.set(frame, box);
    }
    box.bytes += bytes;
    box.nodes.push(node);
    if (this.reversed) box.weights.push(bytes);
  }

  below(box, found) {
    const { first, next, sums } = this.flame;
    const open = [...box.nodes];
    while (open.length) {
      for (let node = first[open.pop()]; node >= 0; node = next[node]) {
        const bytes = sums[this.value][node];
        if (!bytes) continue;
        if (this.isShown(node)) this.add(found, box, node, bytes);
        else open.push(node);
      }
    }
  }

  innermost(found, root) {
    const own = this.flame.own[this.value];
    for (let node = 1; node < own.length; node += 1) {
      if (own[node]) this.climb(found, root, node, own[node]);
    }
  }

  above(box, found) {
    box.nodes.forEach((node, at) => this.climb(found, box, this.flame.parent[node], box.weights[at]));
  }

  climb(found, parent, from, bytes) {
    let node = from;
    while (node > 0 && !this.isShown(node)) node = this.flame.parent[node];
    if (node > 0) this.add(found, parent, node, bytes);
  }
}
