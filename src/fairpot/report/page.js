"use strict";
// Moves what the page's data say: texts, lines and marks at each setting, the counts above each line, the queue.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const dials = all("[data-dial]");
  const who = data.who, queue = data.queue;
  let place = data.chosen, at = who.shown;

  const line = (xs, ys) => xs.length ? "M" + xs.map((x, i) => x + " " + ys[i]).join("L") : "";
  const steps = (m, tops) =>
    "M" + m.edges[0] + " " + m.base + tops.map((t, i) => "V" + t + "H" + m.edges[i + 1]).join("") + "V" + m.base;

  function draw(moving, k) {
    if (moving.d) return moving.d[k];
    if (moving.tops) return steps(moving, moving.tops[k]);
    return line(moving.xs ? moving.xs[k] : moving.x, moving.y[k]);
  }

  function turn(k) {
    place = Math.max(0, Math.min(k, data.texts.setting ? data.texts.setting.length - 1 : 0));
    for (const one of all("[data-k]")) one.textContent = data.texts[one.dataset.k][place];
    for (const one of all("[data-path]")) {
      const moving = data.moving[one.dataset.path];
      if (moving) one.setAttribute("d", draw(moving, place));
    }
    for (const one of all("[data-mark]")) {
      const moving = data.moving[one.dataset.mark];
      one.setAttribute("cx", moving.cx[place]);
      one.setAttribute("cy", moving.cy[place]);
    }
    for (const dial of dials) {
      dial.value = place;
      dial.setAttribute("aria-valuetext", data.texts.setting[place]);
    }
    count();
  }

  // Who is above the line: counts before, and who comes and goes at this setting.
  const value = document.getElementById("who-value");
  const number = (v) => v.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const share = (v, n) => n ? Math.floor(100 * v / n + 0.5) + "%" : "\u2013";

  // Shares are of what rows weigh, where weights say how much a row counts.
  const weighed = who.weighed || who;

  function above(column, c, of = who) {
    const before = of.above[at][c], up = of.up[place][at][c], down = of.down[place][at][c];
    return { before: before, now: before + up - down, enter: up, leave: down }[column];
  }

  function count() {
    for (const one of all("[data-line]")) one.textContent = who.labels[at];
    for (const one of all("[data-question]")) one.textContent = who.questions[at];
    const both = [queue.acted[0][at], queue.acted[place][at]].slice(0, queue.columns.length);
    const acted = [...new Set(both.map((v) => (v / 1e4).toFixed(1) + "%"))].join(" \u2192 ");
    const plain = acted === queue.named[at];
    for (const one of all("[data-acted]")) one.textContent = plain ? "" : queue.said.replace("{acted}", acted);
    if (value) value.setAttribute("aria-valuetext", who.labels[at]);
    for (const cell of all("[data-who]")) cell.textContent = number(above(...cell.dataset.who.split(" ")));
    for (const cell of all("[data-rate]")) {
      const [column, c] = cell.dataset.rate.split(" ");
      cell.textContent = share(above(column, c, weighed), weighed.rows[c]);
    }
    for (const cell of all("[data-lane]")) {
      const [column, g] = cell.dataset.lane.split(" ");
      cell.textContent = number(above(column, 2 * g) + above(column, 2 * g + 1));
    }
    for (const one of all("[data-gain]")) {
      const c = 2 * one.dataset.gain;
      const more = above("now", c) + above("now", c + 1) - above("before", c) - above("before", c + 1);
      one.textContent = Math.abs(more) < 1e-9 ? "" : queue.ways[more > 0 ? 0 : 1];
    }
    drawQueue();
  }

  // The queue: a mark goes from its place before to its place at this setting; bold if it crosses the line.
  const down = (p) => (queue.top + Math.sqrt(p / 1e6) * (queue.bottom - queue.top)).toFixed(1);

  function drawQueue() {
    const left = queue.columns[0], right = queue.columns[queue.columns.length - 1];
    const lines = [queue.acted[0][at], queue.acted[place][at]];
    const rule = "M" + queue.left + " " + down(lines[0]) + "H" + left + "L" + right + " " + down(lines[1]) + "H" + queue.right;
    for (const one of all("[data-rule]")) one.setAttribute("d", rule);
    for (const one of all("[data-shade]")) one.setAttribute("d", rule + "V" + queue.top + "H" + queue.left + "Z");
    for (const one of all("[data-go-mark]")) {
      const [g, j] = one.dataset.goMark.split(" ");
      const was = queue.places[0][g][j], now = queue.places[place][g][j];
      const side = queue.aside[g][j];
      one.setAttribute("d", "M" + (left + side) + " " + down(was) + "L" + (right + side) + " " + down(now));
      one.classList.toggle("cross", (was < lines[0]) !== (now < lines[1]));
    }
    for (const one of all("[data-dot]")) {
      const [when, g, j] = one.dataset.dot.split(" ");
      if (when === "now") one.setAttribute("cy", down(queue.places[place][g][j]));
    }
  }

  function kind() {
    const chosen = document.querySelector("input[name=who-kind]:checked");
    return chosen ? chosen.value : "threshold";
  }

  function choose() {
    at = who.ranges[kind()][0] + Number(value.value);
    count();
  }

  function limit() {
    const range = who.ranges[kind()];
    value.max = range[1] - range[0] - 1;
    value.value = who.start[kind()];
    choose();
  }

  for (const dial of dials) dial.addEventListener("input", () => turn(Number(dial.value)));
  for (const button of all("[data-go]")) button.addEventListener("click", () => turn(Number(button.dataset.go)));
  if (value) {
    value.addEventListener("input", choose);
    for (const one of all("input[name=who-kind]")) one.addEventListener("change", limit);
  }

  // Values by pointing and by keyboard: the heights of a plot's lines where the cursor is.
  const FRAME = { left: 76, right: 408, top: 12, bottom: 246 };
  const digits = (v) => Math.abs(v) >= 1000 || (v && Math.abs(v) < 0.001) ? v.toPrecision(3) : String(Number(v.toFixed(3)));

  function corners(d) {
    const found = [];
    let x = 0, y = 0;
    for (const [, letter, rest] of d.matchAll(/([MLHV])([^MLHVZ]*)/g)) {
      const numbers = rest.trim().split(/[ ,]+/).map(Number);
      if (letter === "H") x = numbers[0];
      else if (letter === "V") y = numbers[0];
      else [x, y] = numbers;
      found.push([x, y]);
    }
    return found;
  }

  function heightAt(path, x) {
    const points = corners(path.getAttribute("d"));
    let best = null;
    for (let i = 1; i < points.length; i++) {
      const [a, b] = points[i - 1], [c, e] = points[i];
      if (Math.min(a, c) > x || Math.max(a, c) < x || a === c) continue;
      best = b + (e - b) * (x - a) / (c - a);
    }
    return best;
  }

  function read(plot, share) {
    const [x0, x1, y0, y1] = plot.dataset.frame.split(" ").map(Number);
    const x = FRAME.left + share * (FRAME.right - FRAME.left);
    const said = [plot.dataset.axes + " " + digits(x0 + share * (x1 - x0))];
    for (const path of all("[data-name]", plot)) {
      const y = heightAt(path, 2 * x);
      if (y === null) continue;
      const v = y0 + (FRAME.bottom - y / 2) / (FRAME.bottom - FRAME.top) * (y1 - y0);
      said.push(path.dataset.name + ": " + ("share" in plot.dataset ? (100 * Math.abs(v)).toFixed(1) + "%" : digits(v)));
    }
    const svg = plot.querySelector("svg");
    let cursor = svg.querySelector(".cursor");
    if (!cursor) {
      cursor = document.createElementNS(svg.namespaceURI, "path");
      cursor.setAttribute("class", "cursor");
      svg.appendChild(cursor);
    }
    cursor.setAttribute("d", "M" + x + " " + FRAME.top + "V" + FRAME.bottom);
    const heading = plot.querySelector("h5");
    document.getElementById(plot.dataset.reading).textContent = (heading ? heading.textContent + ", " : "") + said.join("; ");
  }

  function across(plot, event) {
    const box = plot.querySelector("svg").getBoundingClientRect();
    return { x: (event.clientX - box.left) * 420 / box.width, y: (event.clientY - box.top) * 302 / box.height };
  }

  for (const plot of all(".plot[data-frame]")) {
    let share = 0.5;
    const go = (to) => { share = Math.max(0, Math.min(1, to)); read(plot, share); };
    plot.addEventListener("pointermove", (event) => go((across(plot, event).x - FRAME.left) / (FRAME.right - FRAME.left)));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: share - 0.02, ArrowRight: share + 0.02, Home: 0, End: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      go(step);
    });
  }

  // The curve: a click sets the dial to the nearest setting; pointing tells which.
  for (const plot of all(".plot[data-turn]")) {
    const marks = data.moving.tradeoff;
    const reading = document.getElementById(plot.dataset.reading);
    const tell = (k) => { reading.textContent = data.texts.setting[k] + ". " + data.texts.live[k]; };
    const nearest = (event) => {
      const p = across(plot, event);
      const far = marks.cx.map((x, i) => (x / 2 - p.x) ** 2 + (marks.cy[i] / 2 - p.y) ** 2);
      return far.indexOf(Math.min(...far));
    };
    plot.addEventListener("pointermove", (event) => tell(nearest(event)));
    plot.addEventListener("click", (event) => { const k = nearest(event); turn(k); tell(k); });
    plot.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: data.texts.setting.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      turn(to);
      tell(place);
    });
  }

  // The queue as a picture: what stands in it is painted again, below what it is of and how far it can be trusted.
  function paint(svg, pen, x, y, scale) {
    const box = svg.viewBox.baseVal;
    for (const one of all("path, circle, text", svg)) {
      const look = getComputedStyle(one);
      pen.save();
      pen.setTransform(scale, 0, 0, scale, x, y);
      pen.globalAlpha = Number(look.opacity);
      pen.lineWidth = parseFloat(look.strokeWidth);
      pen.setLineDash(look.strokeDasharray === "none" ? [] : look.strokeDasharray.split(",").map(parseFloat));
      pen.fillStyle = look.fill;
      pen.strokeStyle = look.stroke;
      if (one.tagName === "text") {
        pen.font = "12px " + look.fontFamily;
        const turned = one.transform.baseVal.consolidate();
        if (turned) pen.transform(...["a", "b", "c", "d", "e", "f"].map((part) => turned.matrix[part]));
        pen.textAlign = { middle: "center", end: "right" }[look.textAnchor] || "left";
        pen.fillText(one.textContent, Number(one.getAttribute("x")), Number(one.getAttribute("y")));
      } else {
        const shape = new Path2D(one.tagName === "path" ? one.getAttribute("d") : undefined);
        if (one.tagName === "circle") shape.arc(one.cx.baseVal.value, one.cy.baseVal.value, one.r.baseVal.value, 0, 7);
        if (look.fill !== "none") pen.fill(shape);
        if (look.stroke !== "none") pen.stroke(shape);
      }
      pen.restore();
    }
    return box.width * scale;
  }

  function wrap(pen, text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = (lines[lines.length - 1] + " " + word).trim();
      if (pen.measureText(longer).width > width && lines[lines.length - 1]) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  }

  function picture() {
    const lanes = all(".queue-lane"), scale = 2, gap = 24, ink = getComputedStyle(document.body);
    const box = lanes[0].querySelector("svg").viewBox.baseVal;
    const across = lanes.length > 4 ? Math.ceil(lanes.length / 2) : lanes.length, rows = Math.ceil(lanes.length / across);
    const width = Math.max(across * (box.width + gap) + gap, 600), canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d"), bold = "bold 15px " + ink.fontFamily;
    pen.font = bold;
    const names = lanes.map((lane) => wrap(pen, lane.querySelector("h4").textContent, box.width));
    const head = 18 * Math.max(...names.map((each) => each.length)), tall = box.height + head + 40;
    const said = (...names) => names.flatMap((name) => all(name)).map((one) => one.textContent);
    const texts = [
      ["bold 15px ", said("h1", ".badge").join(" \u00b7 "), 20],
      ["13px ", said(".sub").join(""), 17],
      ["bold 19px ", document.getElementById("finding").textContent, 25],
      ["15px ", said("[data-k=lead]").join("") || said(".lead").pop(), 20],
      ["bold 13px ", said("[data-k=setting]").join(""), 17],
      ["13px ", said("#queue-title .soft", "#queue-note").join(". "), 17],
    ].filter((each) => each[1]);
    let height = gap;
    const blocks = texts.map(([font, text, step]) => {
      pen.font = font + ink.fontFamily;
      const lines = wrap(pen, text, width - 2 * gap);
      height += lines.length * step + 6;
      return [font, lines, step];
    });
    canvas.width = width * scale;
    canvas.height = (height + rows * tall + gap) * scale;
    pen.fillStyle = ink.backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    let y = gap;
    for (const [font, lines, step] of blocks) {
      for (const text of lines) {
        y += step;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.font = font + ink.fontFamily;
        pen.fillStyle = ink.color;
        pen.fillText(text, gap, y - 6);
      }
      y += 6;
    }
    lanes.forEach((lane, i) => {
      const left = gap + (i % across) * (width - gap) / across, top = y + Math.floor(i / across) * tall;
      pen.setTransform(scale, 0, 0, scale, left * scale, top * scale);
      pen.font = bold;
      pen.fillStyle = getComputedStyle(lane.querySelector("h4")).color;
      names[i].forEach((text, k) => pen.fillText(text, 4, 20 + 18 * k));
      pen.font = "12px " + ink.fontFamily;
      pen.fillStyle = ink.color;
      pen.fillText(lane.querySelector("p").textContent, 4, head + 20);
      paint(lane.querySelector("svg"), pen, left * scale, (top + head + 28) * scale, scale);
    });
    return canvas;
  }

  const png = document.getElementById("png");
  if (png) png.addEventListener("click", () => picture().toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = document.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() + "-queue.png";
    link.click();
    URL.revokeObjectURL(link.href);
  }));

  // A table is a stop for the keyboard only where it has to be scrolled.
  const reach = () => {
    for (const one of all(".scroll")) one.tabIndex = one.scrollWidth > one.clientWidth ? 0 : -1;
  };
  window.addEventListener("resize", reach);
  for (const one of all("details")) one.addEventListener("toggle", reach);
  reach();
  // Paper cannot be opened: every part is, while the page is printed.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  for (const one of all("[data-script]")) one.hidden = false;
})();
