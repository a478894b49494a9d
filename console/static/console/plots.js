// Draws each chart from the table beneath it: the numbers are the same because they are the same (CO-10).
(() => {
  "use strict";

  const root = document.documentElement;
  const grouped = new Intl.NumberFormat(root.lang);
  const short = new Intl.NumberFormat(root.lang, { notation: "compact" });
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [4, 2, 4, 6]];
  const whole = [1, 2, 5].flatMap((step) => Array.from({ length: 12 }, (_, power) => step * 10 ** power)).sort((a, b) => a - b);
  const height = 190;
  const plots = [];

  function colour(element, name) {
    return getComputedStyle(element)[name];
  }

  function numbersOf(table) {
    const rows = [...table.tBodies[0].rows];
    const columns = [...table.tHead.rows[0].cells].slice(1).map((cell, at) => ({
      title: cell.textContent,
      values: rows.map((row) => Number(row.cells[at + 1].querySelector("data").value)),
    }));
    return { labels: rows.map((row) => row.cells[0].dataset.short), columns };
  }

  function axis(box, options) {
    const line = { stroke: colour(box.closest(".card"), "borderTopColor"), width: 1 };
    const text = box.parentElement.querySelector(".muted");
    return { stroke: colour(text, "color"), font: `12px ${getComputedStyle(root).fontFamily}`, grid: line, ticks: line, ...options };
  }

  function axes(box, labels) {
    return [
      axis(box, { size: 30, space: 56, incrs: [1, 2, 3, 4, 6, 7, 12], values: (_, splits) => splits.map((at) => labels[at] ?? "") }),
      axis(box, { size: 56, incrs: whole, values: (_, splits) => splits.map((value) => short.format(value)) }),
    ];
  }

  function lines(box, columns) {
    const marks = [...box.parentElement.querySelectorAll(".legend li")];
    return columns.map((column, at) => {
      const stroke = colour(marks[at], "color");
      return { label: column.title, stroke, width: 2, dash: dashes[at % dashes.length], points: { show: true, size: 5, stroke, fill: stroke } };
    });
  }

  function draw(plot) {
    const { box, numbers } = plot;
    plot.drawn?.destroy();
    box.replaceChildren();
    const last = numbers.labels.length - 1;
    const options = {
      width: box.clientWidth,
      height,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 8 } },
      scales: { x: { time: false, range: [-0.3, last + 0.3] }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, 1) * 1.1] } },
      axes: axes(box, numbers.labels),
      series: [{}, ...lines(box, numbers.columns)],
    };
    const data = [numbers.labels.map((_, at) => at), ...numbers.columns.map((column) => column.values)];
    plot.drawn = new uPlot(options, data, box);
  }

  function drawAll() {
    plots.forEach(draw);
  }

  function titles(plot) {
    const { box, numbers } = plot;
    box.addEventListener("mousemove", () => {
      const at = plot.drawn?.cursor.idx;
      if (at == null) return;
      const values = numbers.columns.map((column) => `${column.title}: ${grouped.format(column.values[at])}`);
      box.title = [numbers.labels[at], ...values].join("\n");
    });
  }

  for (const frame of document.querySelectorAll("[data-plot]")) {
    const table = document.getElementById(frame.dataset.plot);
    const box = frame.querySelector(".canvas");
    const plot = { box, numbers: numbersOf(table.querySelector("table")) };
    box.hidden = false;
    table.open = false;
    plots.push(plot);
    titles(plot);
    new ResizeObserver(() => {
      if (plot.drawn && box.clientWidth && plot.drawn.width !== box.clientWidth) plot.drawn.setSize({ width: box.clientWidth, height });
    }).observe(box);
  }
  drawAll();
  new MutationObserver(drawAll).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
