"use strict";

// Tables: a click on a head sorts by it, a second one the other way round. Rows that add up others stay below.

// What a cell says as a number, or NaN: "1,754", "+3.4%", "−5.9% … −5.1%", "<0.001".
function number(text) {
  return parseFloat(text.replace(/[,<+]/g, "").replace(/−/g, "-"));
}

function sortBy(head) {
  const table = head.closest("table");
  const column = [...head.parentNode.children].indexOf(head);
  const figures = head.classList.contains("figure");
  const before = head.getAttribute("aria-sort");
  const descending = before ? before === "ascending" : figures;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0];
  const text = (row) => row.cells[column].textContent.trim();
  const compare = (a, b) => {
    if (!figures) return text(a).localeCompare(text(b));
    const [x, y] = [number(text(a)), number(text(b))];
    // What wasn't measured comes last either way.
    if (Number.isNaN(x) || Number.isNaN(y)) return (Number.isNaN(x) - Number.isNaN(y)) * (descending ? -1 : 1);
    return x - y;
  };
  const rows = [...body.rows].sort((a, b) => compare(a, b) * (descending ? -1 : 1));
  body.append(...rows);
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sortBy(button.parentNode));
}

// Timelines: a block says below the picture what it is; arrows lead from one to the next.

function timeline(figure) {
  const svg = figure.querySelector("svg");
  const said = figure.querySelector("output");
  const bars = [...svg.querySelectorAll("g")];
  const about = (bar) => bar.querySelector("title").textContent.replace(/\n/g, ", ");
  const choose = (chosen) => {
    for (const bar of bars) bar.setAttribute("tabindex", bar === chosen ? 0 : -1);
    for (const bar of bars) bar.setAttribute("aria-selected", bar === chosen);
  };
  svg.setAttribute("role", "listbox");
  svg.setAttribute("aria-label", `Blocks of a request: ${figure.dataset.cell}`);
  bars.forEach((bar, at) => {
    bar.setAttribute("role", "option");
    bar.setAttribute("aria-label", about(bar));
    bar.addEventListener("mouseover", () => (said.textContent = about(bar)));
    bar.addEventListener("focus", () => {
      choose(bar);
      said.textContent = about(bar);
    });
    bar.addEventListener("keydown", (event) => {
      const places = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 };
      if (!(event.key in places)) return;
      event.preventDefault();
      bars[places[event.key]]?.focus();
    });
  });
  choose(bars[0]);
}

for (const figure of document.querySelectorAll(".timeline")) timeline(figure);

// Flamegraphs.

const ROW = 17; // Pixels from a frame to the one upon it.
const LEAST = 0.7; // Frames of fewer pixels are left out.
const FEW = 4; // So many cells are shown all at once.
const ALL = "all";

const { texts, graphs } = JSON.parse(document.getElementById("data").textContent);
const parts = ["controls", "metrics", "cells", "search", "reset", "graphs"];
const [controls, metrics, cells, search, reset, place] = parts.map((id) => document.getElementById(id));
const unique = (values) => [...new Set(values)];
const names = unique(graphs.map((graph) => graph.cell));
// The same load of two runs stands side by side.
const views = names.flatMap((name) => graphs.filter((graph) => graph.cell === name)).map((graph) => new View(graph));
let pattern = null;

function View(graph) {
  this.graph = graph;
  this.frames = graph.frames.map(([depth, start, width, name, value]) => ({
    depth, start, width, end: start + width, name: texts[name], value: texts[value],
  }));
  this.height = (1 + this.frames.reduce((most, frame) => Math.max(most, frame.depth), 0)) * ROW;
  this.zoomed = this.focused = this.frames[0];
}

View.prototype.build = function () {
  this.figure = document.createElement("figure");
  this.figure.className = "flame";
  const caption = document.createElement("figcaption");
  const about = document.createElement("small");
  caption.textContent = `${this.graph.cell}, run ${this.graph.run}`;
  about.textContent = this.graph.about;
  caption.append(about);
  this.matched = document.createElement("small");
  this.matched.setAttribute("role", "status");
  caption.append(this.matched);
  this.box = document.createElement("div");
  this.box.className = "frames";
  this.box.setAttribute("role", "tree");
  this.box.setAttribute("aria-label", `Flamegraph of ${this.graph.metric}: ${caption.firstChild.textContent}`);
  this.box.style.height = `${this.height}px`;
  this.details = document.createElement("output");
  this.figure.append(caption, this.box, this.details);
  const frameOf = (event) => event.target.frame;
  this.box.addEventListener("click", (event) => frameOf(event) && this.zoom(frameOf(event)));
  this.box.addEventListener("mouseover", (event) => frameOf(event) && this.tell(frameOf(event)));
  this.box.addEventListener("focusin", (event) => frameOf(event) && this.tell(frameOf(event)));
  this.box.addEventListener("keydown", (event) => frameOf(event) && this.key(event, frameOf(event)));
};

View.prototype.tell = function (frame) {
  this.details.textContent = `${frame.name} (${frame.value})`;
};

View.prototype.key = function (event, frame) {
  const beside = (step) => {
    const row = this.shown.filter((other) => other.depth === frame.depth);
    return row[row.indexOf(frame) + step];
  };
  const callees = () => {
    const inside = this.shown.filter((o) => o.depth === frame.depth + 1 && o.start >= frame.start && o.end <= frame.end);
    return inside.reduce((widest, other) => (widest && widest.width >= other.width ? widest : other), undefined);
  };
  const caller = () => this.shown.find((o) => o.depth === frame.depth - 1 && o.start <= frame.start && o.end >= frame.end);
  const moves = { ArrowUp: callees, ArrowDown: caller, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => this.frames[0] };
  if (event.key === "Enter" || event.key === " ") this.zoom(frame, true);
  else if (event.key === "Escape") this.zoom(this.frames[0], true);
  else if (moves[event.key]) this.focus(moves[event.key]());
  else return;
  event.preventDefault();
};

View.prototype.focus = function (frame) {
  if (!frame) return;
  for (const element of this.box.children) {
    const chosen = element.frame === frame;
    element.tabIndex = chosen ? 0 : -1;
    if (chosen) element.focus();
  }
  this.focused = frame;
};

View.prototype.zoom = function (frame, refocus) {
  this.zoomed = this.focused = frame;
  this.draw();
  if (refocus) this.focus(frame);
};

// The share of the whole that frames take up which match, each part of it once.
View.prototype.share = function () {
  let [sum, end] = [0, 0];
  for (const frame of this.frames) {
    if (frame.end <= end || !pattern.test(frame.name)) continue;
    sum += frame.end - Math.max(frame.start, end);
    end = frame.end;
  }
  return sum / this.frames[0].width;
};

View.prototype.draw = function () {
  const { start, end, width, depth } = this.zoomed;
  const pixels = this.box.clientWidth || 600;
  const around = (frame) => frame.depth < depth && frame.start <= start && frame.end >= end;
  const within = (frame) => frame.depth >= depth && frame.start >= start && frame.end <= end;
  const wide = (frame) => (frame.width / width) * pixels >= LEAST;
  this.shown = this.frames.filter((frame) => around(frame) || (within(frame) && wide(frame)));
  if (!this.shown.includes(this.focused)) this.focused = this.zoomed;
  const elements = this.shown.map((frame) => {
    const outer = frame.depth < depth;
    const left = outer ? 0 : (frame.start - start) / width;
    const share = outer ? 1 : frame.width / width;
    const element = document.createElement("div");
    element.frame = frame;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", frame.depth + 1);
    element.setAttribute("aria-label", `${frame.name}, ${frame.value}`);
    element.tabIndex = frame === this.focused ? 0 : -1;
    element.textContent = fitting(frame.name, Math.floor((share * pixels - 7) / 7.23));
    element.style.cssText = `left:${left * 100}%;width:${share * 100}%;bottom:${frame.depth * ROW}px;background:${color(this.graph, frame.name)}`;
    element.classList.toggle("around", outer);
    element.classList.toggle("hit", Boolean(pattern && pattern.test(frame.name)));
    return element;
  });
  this.box.replaceChildren(...elements);
  this.matched.textContent = pattern ? `${(this.share() * 100).toFixed(1)} % matched` : "";
};

// The end of a name says most.
function fitting(name, characters) {
  if (characters < 3) return "";
  return name.length <= characters ? name : `…${name.slice(1 - characters)}`;
}

// The same name has the same colour in every graph: green for memory, warm for time.
function color(graph, name) {
  let hash = 7;
  for (const c of name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
  const [hue, range] = graph.metric === "CPU" ? [12, 40] : [85, 75];
  return `hsl(${hue + (hash % range)} ${55 + ((hash >>> 8) % 20)}% ${66 + ((hash >>> 16) % 12)}%)`;
}

function find(term) {
  try {
    return term && new RegExp(term, "i");
  } catch {
    return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

function visible() {
  const metric = metrics.querySelector(":checked").value;
  const chosen = (view) => view.graph.metric === metric && (cells.value === ALL || view.graph.cell === cells.value);
  return views.filter(chosen);
}

function show() {
  const shown = visible();
  for (const view of shown) if (!view.figure) view.build();
  place.replaceChildren(...shown.map((view) => view.figure));
  if (shown.length === 0) place.textContent = "No such profile was taken.";
  for (const view of shown) view.draw();
}

function option(parent, value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  parent.append(element);
}

function start() {
  for (const metric of unique(graphs.map((graph) => graph.metric))) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "metric", value: metric, checked: !metrics.querySelector("input") });
    label.append(radio, ` ${metric}`);
    metrics.append(label);
  }
  if (names.length > 1) option(cells, ALL, "all loads");
  for (const name of names) option(cells, name, name);
  cells.value = names.length > 1 && names.length <= FEW ? ALL : names[0];
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  metrics.addEventListener("change", show);
  cells.addEventListener("change", show);
  search.addEventListener("input", () => {
    pattern = find(search.value.trim());
    for (const view of visible()) view.draw();
  });
  reset.addEventListener("click", () => {
    for (const view of visible()) view.zoom(view.frames[0]);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) for (const view of visible()) view.draw();
    width = innerWidth;
  });
  show();
}

if (graphs.length > 0) start();
