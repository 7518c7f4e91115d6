"use strict";
// Moves what the page's data say: texts, lines and marks at each setting, and the counts at each threshold.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const dial = document.getElementById("dial");
  let place = data.chosen;

  const line = (xs, ys) => xs.length ? "M" + xs.map((x, i) => x + " " + ys[i]).join("L") : "";
  const steps = (m, tops) =>
    "M" + m.edges[0] + " " + m.base + tops.map((t, i) => "V" + t + "H" + m.edges[i + 1]).join("") + "V" + m.base;

  function draw(moving, k) {
    if (moving.tops) return steps(moving, moving.tops[k]);
    return line(moving.xs ? moving.xs[k] : moving.x, moving.y[k]);
  }

  function turn(k) {
    place = k;
    for (const one of all("[data-k]")) one.textContent = data.texts[one.dataset.k][k];
    for (const one of all("[data-path]")) {
      const moving = data.moving[one.dataset.path];
      if (moving) one.setAttribute("d", draw(moving, k));
    }
    for (const one of all("[data-mark]")) {
      const moving = data.moving[one.dataset.mark];
      one.setAttribute("cx", moving.cx[k]);
      one.setAttribute("cy", moving.cy[k]);
    }
    if (dial) {
      dial.value = k;
      dial.setAttribute("aria-valuetext", data.texts.setting[k]);
    }
    count();
  }

  // Who is above the line: counts before, and who comes and goes at this setting.
  const who = data.who;
  const value = document.getElementById("who-value");
  const number = (v) => Number.isInteger(v) ? v.toLocaleString("en-US") : v.toLocaleString("en-US", { maximumFractionDigits: 1 });

  function kind() {
    const chosen = document.querySelector("input[name=who-kind]:checked");
    return chosen ? chosen.value : "threshold";
  }

  function count() {
    if (!value) return;
    const range = who.ranges[kind()];
    const at = range[0] + Number(value.value);
    const label = who.labels[at];
    document.getElementById("who-label").textContent = label;
    value.setAttribute("aria-valuetext", label);
    const cells = all("[data-who]");
    for (const cell of cells) {
      const [column, c] = cell.dataset.who.split(" ");
      const before = who.above[at][c];
      const up = who.up[place][at][c], down = who.down[place][at][c];
      cell.textContent = number({ before: before, now: before + up - down, enter: up, leave: down }[column]);
    }
  }

  function limit(keep) {
    const range = who.ranges[kind()];
    value.max = range[1] - range[0] - 1;
    if (!keep) value.value = who.start[kind()];
    count();
  }

  if (dial) {
    dial.addEventListener("input", () => turn(Number(dial.value)));
    for (const button of all("[data-go]")) button.addEventListener("click", () => turn(Number(button.dataset.go)));
  }
  if (value) {
    value.addEventListener("input", count);
    for (const one of all("input[name=who-kind]")) one.addEventListener("change", () => limit(false));
    limit(true);
  }
  // A table is a stop for the keyboard only where it has to be scrolled.
  const reach = () => {
    for (const one of all(".scroll")) one.tabIndex = one.scrollWidth > one.clientWidth ? 0 : -1;
  };
  window.addEventListener("resize", reach);
  for (const one of all("details")) one.addEventListener("toggle", reach);
  reach();
  for (const one of all("[data-script]")) one.hidden = false;
})();
