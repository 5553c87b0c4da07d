"use strict";
// The page reads well without this: it adds the theme button, the scale
// buttons, legends that hide a series, and values under the pointer.
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

for (const button of document.querySelectorAll("button[data-scale]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const on = button.closest("figure").classList.toggle("linear");
    button.setAttribute("aria-pressed", on);
  });
}

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
const duration = (ns) => {
  const unit = [["s", 1e9], ["ms", 1e6], ["us", 1e3]].find(([, f]) => ns >= f) || ["ns", 1];
  return significant(ns / unit[1]) + " " + unit[0];
};

// Every table can be taken along as text.
const words = (cell) =>
  [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(" ");
const rows = (table) =>
  [...table.rows].filter((row) => !row.classList.contains("below")).map((row) => [...row.cells].map(words));
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

// Where a place of the picture lies on an axis: the inverse of what drew it.
function axis(text) {
  const [kind, low, high, from, to, unit] = text.split(",");
  const nines = (q) => -Math.log10(1 - q);
  const warp = { log: Math.log10, nines, linear: (v) => v }[kind];
  const back = { log: (v) => 10 ** v, nines: (v) => 1 - 10 ** -v, linear: (v) => v }[kind];
  const [a, b] = [warp(+low), warp(+high)];
  return {
    value: (place) => back(a + ((place - from) / (to - from)) * (b - a)),
    text: (v) => {
      if (unit === "ns") return duration(v);
      if (unit === "q") return (v * 100).toFixed(Math.max(0, Math.ceil(nines(v) - 2.01))) + " %";
      return significant(v) + (unit ? " " + unit : "");
    },
  };
}

function nearest(svg, x) {
  const found = [];
  for (const group of svg.querySelectorAll("g.data:not(.off)")) {
    for (const line of group.querySelectorAll("polyline")) {
      for (const point of line.points) {
        const old = found.find((f) => f.series === group.dataset.series);
        const near = { series: group.dataset.series, x: point.x, y: point.y };
        if (!old) found.push(near);
        else if (Math.abs(point.x - x) < Math.abs(old.x - x)) Object.assign(old, near);
      }
    }
  }
  const best = Math.min(...found.map((f) => Math.abs(f.x - x)));
  return found.filter((f) => Math.abs(f.x - x) < best + 6).sort((a, b) => a.y - b.y);
}

for (const figure of document.querySelectorAll("figure")) {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  figure.append(tip);
  figure.addEventListener("pointerleave", () => (tip.hidden = true));
  figure.addEventListener("pointermove", (event) => {
    const svg = event.target.closest("svg[data-x]");
    tip.hidden = true;
    if (!svg) return;
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const across = svg.dataset.x.split(",");
    if (place.x < +across[3] - 4 || place.x > +across[4] + 4) return;
    const [x, y] = [axis(svg.dataset.x), axis(svg.dataset.y)];
    const points = nearest(svg, place.x).slice(0, 12);
    if (!points.length) return;
    const lines = points.map((p) => p.series + "  " + y.text(y.value(p.y)));
    tip.textContent = [x.text(x.value(points[0].x)), ...lines].join("\n");
    tip.hidden = false;
    const box = figure.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth);
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = event.clientY - box.top + 14 + "px";
  });
}
