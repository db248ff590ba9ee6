// Numbers as the rest of the page has them, and elements: what a program says becomes text, never markup.

function count(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

function threeDigits(value) {
  if (value < 9.995) return value.toFixed(2);
  return value < 99.95 ? value.toFixed(1) : count(value);
}

function size(bytes) {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${threeDigits(value)} ${units[unit]}`;
}

function percent(part, whole) {
  if (!whole) return "–";
  const value = (100 * part) / whole;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
}

function seconds(milliseconds) {
  if (milliseconds < 1000) return `${count(milliseconds)} ms`;
  if (milliseconds < 600_000) return `${threeDigits(milliseconds / 1000)} s`;
  return `${count(milliseconds / 60_000)} min`;
}

function element(tag, classes, text) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shape(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
