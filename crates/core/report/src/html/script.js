"use strict";
// The page reads well without this: it adds the theme button, another scale, legends that hide a series, values
// under the pointer, and over time one cursor and one zoom for all charts.
const root = document.documentElement;
const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// Paper has no closed parts: the claims open for it, and close again.
const claims = document.querySelectorAll("#articles details:not([open])");
addEventListener("beforeprint", () => claims.forEach((part) => (part.open = true)));
addEventListener("afterprint", () => claims.forEach((part) => (part.open = false)));

// A legend entry hides its series in this picture, by pointer or by key.
for (const key of document.querySelectorAll("g.key")) {
  key.setAttribute("tabindex", "0");
  key.setAttribute("role", "button");
  key.setAttribute("aria-pressed", "true");
  key.setAttribute("aria-label", "show " + key.dataset.series);
  const flip = () => {
    const off = !key.classList.contains("off");
    for (const part of key.closest("figure").querySelectorAll("g[data-series]")) {
      if (part.dataset.series === key.dataset.series) part.classList.toggle("off", off);
    }
    key.setAttribute("aria-pressed", String(!off));
  };
  key.addEventListener("click", flip);
  key.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      flip();
    }
  });
}

const significant = (v) =>
  v >= 99.95 ? Math.round(v).toLocaleString("en") : v >= 9.995 ? v.toFixed(1) : v.toFixed(2);
const duration = (ns, digits = significant) => {
  const unit = [["s", 1e9], ["ms", 1e6], ["us", 1e3]].find(([, f]) => ns >= f * 0.9999) || ["ns", 1];
  return digits(ns / unit[1]) + " " + unit[0];
};

// Every table can be taken along as text.
const words = (cell) =>
  [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(" ");
const rows = (table) => {
  const lines = [];
  for (const row of table.rows) {
    const cells = [...row.cells].map(words);
    if (!row.classList.contains("below")) lines.push(cells);
    else if (lines.at(-1).push(...cells) > lines[0].length) lines[0].push("notes");
  }
  return lines;
};
const formats = {
  CSV: (table) =>
    rows(table).map((row) => row.map((t) => (/[",\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t)).join(",")),
  Markdown: (table) => {
    const lines = rows(table).map((row) => "| " + row.map((t) => t.replaceAll("|", "\\|")).join(" | ") + " |");
    const width = Math.max(...rows(table).map((row) => row.length));
    return [lines[0], "|" + " --- |".repeat(width), ...lines.slice(1)];
  },
};
// Without the clipboard's own call: a page that was opened from a file may not have it.
function copied(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
for (const table of document.querySelectorAll(".wide > table")) {
  const tools = document.createElement("div");
  tools.className = "copy";
  for (const [name, write] of Object.entries(formats)) {
    const button = document.createElement("button");
    button.textContent = "copy as " + name;
    button.addEventListener("click", () => {
      const done = copied(write(table).join("\n") + "\n");
      button.textContent = done ? "copied" : "not copied: the browser does not allow it";
      setTimeout(() => (button.textContent = "copy as " + name), 1500);
    });
    tools.append(button);
  }
  table.parentElement.after(tools);
}

// An axis as it was drawn: where a value lies, what lies at a place, and marks for another scale or range.
const nines = (q) => -Math.log10(1 - q);
const WARPS = {
  log: [Math.log10, (v) => 10 ** v],
  nines: [nines, (v) => 1 - 10 ** -v],
  linear: [(v) => v, (v) => v],
};
const short = (v) => String(+v.toPrecision(3));
function axis(text, kind, low, high) {
  const [drawn, first, last, from, to, unit] = text.split(",");
  [kind, low, high] = [kind ?? drawn, low ?? +first, high ?? +last];
  const [warp, back] = WARPS[kind];
  const [a, b] = [warp(low), warp(high)];
  const name = (v, digits) => {
    if (unit === "ns") return v ? duration(v, digits) : "0";
    if (unit === "q") return (v * 100).toFixed(Math.max(0, Math.ceil(nines(v) - 2.01))) + " %";
    return v >= 1e4 ? Math.round(v).toLocaleString("en") : digits(v);
  };
  const marks = () => {
    const found = [];
    if (kind === "log") {
      const decades = Math.log10(high / low);
      for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++) {
        for (const f of decades < 1.4 ? [1, 2, 3, 5, 7] : decades < 3.1 ? [1, 2, 5] : [1]) found.push(f * 10 ** k);
      }
    } else {
      const raw = (high - low) / 5;
      const decade = 10 ** Math.floor(Math.log10(raw));
      const step = decade * [1, 2, 2.5, 5, 10].find((f) => f * decade >= raw * 0.999);
      for (let v = Math.ceil(low / step) * step; v <= high * 1.0001; v += step) found.push(v);
    }
    return found.filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
  };
  return {
    kind, low, high, unit, from: +from, to: +to, marks,
    value: (place) => back(a + ((place - from) / (to - from)) * (b - a)),
    place: (v) => +from + ((warp(v) - a) / (b - a)) * (to - from),
    text: (v) => name(v, significant) + (["s", "min"].includes(unit) ? " " + unit : ""),
    mark: (v) => name(v, short),
  };
}

function make(name, attributes, parent) {
  const node = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent.append(node);
  return node;
}

// Where a shape lies, whether it is shown or in a closed part: all points of a line, the middle of others.
function corners(node) {
  const number = (name) => +node.getAttribute(name);
  if (node.localName === "circle") return [{ x: number("cx"), y: number("cy") }];
  if (node.localName === "text") return [{ x: number("x"), y: number("y") }];
  if (node.localName === "rect") return [{ x: number("x") + number("width") / 2, y: number("y") }];
  if (node.localName === "path") {
    const [x, y, half] = node.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    return [{ x: x + half / 2, y: y + half / 2 }];
  }
  const points = [...node.points].map(({ x, y }) => ({ x, y }));
  if (node.localName === "polyline") return points;
  const mean = (side) => points.reduce((sum, point) => sum + point[side], 0) / points.length;
  return [{ x: mean("x"), y: mean("y") }];
}

// A chart that can be drawn again, from the places that its shapes had when the page came.
class Plot {
  constructor(svg) {
    this.svg = svg;
    this.was = { x: svg.dataset.x && axis(svg.dataset.x), y: svg.dataset.y && axis(svg.dataset.y) };
    Object.assign(this, this.was);
    this.shapes = [...svg.querySelectorAll("g.data > *")].map((node) => {
      const points = corners(node);
      const title = node.querySelector("title");
      if (title) node.setAttribute("aria-label", title.textContent);
      title?.remove();
      return { node, tip: title?.textContent, points, group: node.parentNode };
    });
    this.now = this.shapes.map(({ points }) => points);
    if (this.x?.unit === "s") svg.style.touchAction = "pan-y";
  }
  redraw(change) {
    const moved = (side, place) => {
      const [was, now] = [this.was[side], this[side]];
      return was && now !== was ? now.place(was.value(place)) : place;
    };
    Object.assign(this, change);
    this.clip();
    this.now = this.shapes.map(({ node, points }) => {
      const now = points.map(({ x, y }) => ({ x: moved("x", x), y: moved("y", y) }));
      if (node.localName === "polyline") {
        node.setAttribute("points", now.map(({ x, y }) => x.toFixed(1) + "," + y.toFixed(1)).join(" "));
      } else if (node.hasAttribute("stroke-opacity")) {
        const scale = (this.was.x.high - this.was.x.low) / (this.x.high - this.x.low);
        const shift = this.x.from - this.x.from * scale - (this.x.low - this.was.x.low) * scale * this.perUnit();
        node.setAttribute("transform", `matrix(${scale} 0 0 1 ${shift} 0)`);
      } else {
        node.setAttribute("transform", `translate(${now[0].x - points[0].x} ${now[0].y - points[0].y})`);
      }
      return now;
    });
    if (change.x) this.marks("along", this.x, this.was.y ?? this.was.x);
    if (change.y) this.marks("up", this.y);
  }
  perUnit() {
    return (this.was.x.to - this.was.x.from) / (this.was.x.high - this.was.x.low);
  }
  clip() {
    if (this.clipped) return;
    const id = "clip-" + Math.random().toString(36).slice(2);
    const { x } = this.was;
    const along = this.svg.querySelector("g.along polyline").points;
    const [top, bottom] = [along[0].y, along[1].y];
    const path = make("clipPath", { id }, this.svg);
    make("rect", { x: x.from - 4, y: top - 4, width: x.to - x.from + 8, height: bottom - top + 8 }, path);
    for (const group of this.svg.querySelectorAll("g.data")) group.setAttribute("clip-path", `url(#${id})`);
    this.clipped = true;
  }
  marks(name, axis) {
    const group = this.svg.querySelector("g." + name);
    const [line, text] = [group.querySelector("polyline"), group.querySelector("text")];
    const ends = [...line.points].map(({ x, y }) => [x, y]);
    const [at, size] = [[text.getAttribute("x"), text.getAttribute("y")], text.getAttribute("font-size")];
    const offset = at[1] - ends[0][1];
    group.replaceChildren();
    for (const value of axis.marks()) {
      const place = axis.place(value);
      const points = ends.map(([x, y]) => (name === "along" ? [place, y] : [x, place]).join(","));
      make("polyline", { class: "s-grid", points: points.join(" "), fill: "none" }, group);
      const [x, y] = name === "along" ? [place, at[1]] : [at[0], place + Math.min(offset, size * 0.4)];
      const anchor = name === "along" ? "middle" : "end";
      make("text", { x, y, "font-size": size, "text-anchor": anchor, class: "f-ink" }, group).textContent = axis.mark(value);
    }
  }
  place(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }
  // Series with their values at a place, or the words of the nearest mark.
  near({ x, y }) {
    let mark = null;
    const lines = new Map();
    this.shapes.forEach(({ node, tip, group }, index) => {
      if (group.classList.contains("off")) return;
      for (const point of this.now[index]) {
        if (tip) {
          const far = Math.hypot(point.x - x, point.y - y);
          if (far < (mark?.far ?? 9)) mark = { far, tip };
        } else if (node.localName === "polyline" && this.y) {
          const old = lines.get(group.dataset.series);
          if (!old || Math.abs(point.x - x) < Math.abs(old.x - x)) lines.set(group.dataset.series, point);
        }
      }
    });
    if (mark) return mark.tip;
    const far = (point) => Math.abs(point.x - x);
    const best = Math.min(...[...lines.values()].map(far));
    const found = [...lines].filter(([, point]) => far(point) < best + 6).sort((a, b) => a[1].y - b[1].y).slice(0, 12);
    if (!found.length) return "";
    const head = this.x.text(this.x.value(found[0][1].x));
    return [head, ...found.map(([series, point]) => series + "  " + this.y.text(this.y.value(point.y)))].join("\n");
  }
}

const plots = [...document.querySelectorAll("svg[data-x]")].map((svg) => new Plot(svg));
const overTime = plots.filter((plot) => plot.x.unit === "s");
const button = (figure, text, act) => {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", () => act(made));
  figure.querySelector(".tools")?.append(made);
  return made;
};

// The other scale: of values that no other axis holds, so of a row's dots along, of lines up.
for (const figure of document.querySelectorAll("figure")) {
  const own = plots.filter((plot) => figure.contains(plot.svg));
  const side = own[0]?.y ? "y" : "x";
  if (!own.length || !["log", "linear"].includes(own[0][side].kind)) continue;
  const other = own[0][side].kind === "log" ? "linear" : "log";
  button(figure, other + " scale", (made) => {
    const on = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(on));
    for (const plot of own) {
      const [was, text] = [plot.was[side], plot.svg.dataset[side]];
      const least = Math.min(...plot.shapes.flatMap(({ points }) => points.map((p) => was.value(p[side]))));
      const low = other === "log" ? Math.max(least, was.high / 1e4) * 0.9 : 0;
      plot.redraw({ [side]: on ? axis(text, other, low, was.high) : was });
    }
  });
}

const whole = overTime.map(({ svg }) => button(svg.closest("figure"), "whole time", () => zoom(null)));
function zoom(range) {
  for (const plot of overTime) {
    const [low, high] = range ?? [plot.was.x.low, plot.was.x.high];
    plot.redraw({ x: axis(plot.svg.dataset.x, "linear", low, high) });
  }
  whole.forEach((made) => (made.hidden = !range));
}
whole.forEach((made) => (made.hidden = true));

function cursor(second) {
  for (const plot of overTime) {
    const at = plot.x.place(second);
    const [top, bottom] = [plot.svg.querySelector("g.along polyline").points[0].y, plot.was.y.from];
    plot.line ??= make("line", { class: "s-muted cursor" }, plot.svg);
    plot.line.style.display = at >= plot.x.from && at <= plot.x.to ? "" : "none";
    for (const [name, value] of Object.entries({ x1: at, x2: at, y1: top, y2: bottom })) plot.line.setAttribute(name, value);
  }
}

for (const plot of plots) {
  const figure = plot.svg.closest("figure");
  let tip = figure.querySelector(".tip");
  if (!tip) {
    tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.append(tip);
  }
  const isTime = overTime.includes(plot);
  let began = null;
  plot.svg.addEventListener("pointerleave", () => {
    tip.hidden = true;
    if (isTime) cursor(NaN);
  });
  plot.svg.addEventListener("pointerdown", (event) => {
    if (isTime && !event.target.closest("g.key")) began = plot.place(event).x;
  });
  plot.svg.addEventListener("pointerup", (event) => {
    const ends = [began, plot.place(event).x].sort((a, b) => a - b).map((x) => plot.x.value(x));
    if (began !== null && Math.abs(plot.place(event).x - began) > 8) zoom([Math.max(ends[0], plot.was.x.low), Math.min(ends[1], plot.was.x.high)]);
    began = null;
  });
  plot.svg.addEventListener("pointermove", (event) => {
    const place = plot.place(event);
    tip.hidden = true;
    if (place.x < plot.x.from - 4 || place.x > plot.x.to + 4) return;
    if (isTime) cursor(plot.x.value(place.x));
    tip.textContent = plot.near(place);
    if (!tip.textContent) return;
    tip.hidden = false;
    const box = figure.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth);
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = event.clientY - box.top + 14 + "px";
  });
}
