// Draws the charts of a Steelyard report. Everything shown was made in Python; this chooses and draws.
"use strict";
{
  const store = JSON.parse(document.getElementById("charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  // Tables come column by column; a column of texts that repeat is a list of texts and places in it.
  function rowsOf(table) {
    const columns = Object.entries(table).map(([name, values]) =>
      [name, values.texts ? values.at.map((place) => values.texts[place]) : values]);
    const count = columns.length ? columns[0][1].length : 0;
    return Array.from({ length: count }, (_, row) =>
      Object.fromEntries(columns.map(([name, values]) => [name, values[row]])));
  }

  const chosen = (name) => document.querySelector(`select[data-choose="${name}"]`)?.value ?? "0";

  const keyOf = (figure) => figure.dataset.chart.replace(/\{(\w+)\}/g, (_, name) => chosen(name));

  // The form for wide or narrow places, with its data, and with the chosen cell where it asks for one.
  function specOf(chart, width) {
    const spec = structuredClone(width < 600 ? chart.narrow : chart.wide);
    spec.datasets = Object.fromEntries(chart.uses.map((name) => [name, rowsOf(store.tables[name])]));
    for (const param of spec.params ?? []) param.value = chosen(param.name);
    return spec;
  }

  async function draw(figure) {
    const chart = store.charts[keyOf(figure)];
    const place = figure.querySelector(".plot");
    drawn.get(figure)?.finalize();
    drawn.delete(figure);
    figure.classList.toggle("nothing", !chart);
    if (!chart) return place.replaceChildren();
    const options = {
      actions: false, ast: true, renderer: "svg", defaultStyle: false, tooltip: showTip,
      config: dark.matches ? store.dark : store.light,
    };
    const result = await vegaEmbed(place, specOf(chart, place.clientWidth), options);
    drawn.set(figure, result);
    const svg = place.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", chart.title);
    figure.dataset.drawn = keyOf(figure);
  }

  function failed(figure, error) {
    figure.querySelector(".plot").textContent = "This chart could not be drawn; the tables show the same data.";
    console.error(error);
  }

  // One after the other, so that what was asked for last is what is seen.
  let queue = Promise.resolve();
  function redraw(wanted) {
    const figures = [...document.querySelectorAll("figure[data-chart]")].filter(wanted);
    for (const figure of figures) queue = queue.then(() => draw(figure)).catch((error) => failed(figure, error));
    return queue;
  }

  const tip = document.getElementById("tip");

  function showTip(handler, event, item, value) {
    if (!value || typeof value !== "object") { tip.hidden = true; return; }
    const lines = Object.entries(value).filter(([, text]) => text !== "" && text != null);
    tip.replaceChildren(...lines.flatMap(([name, text]) => {
      const term = document.createElement("dt"), detail = document.createElement("dd");
      term.textContent = name;
      detail.textContent = text;
      return [term, detail];
    }));
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = `${below ? event.clientY + 18 : Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
  }

  for (const select of document.querySelectorAll("select[data-choose]")) {
    select.addEventListener("change", () => {
      for (const twin of document.querySelectorAll(`select[data-choose="${select.dataset.choose}"]`)) twin.value = select.value;
      const name = select.dataset.choose;
      redraw((figure) => figure.dataset.chart.includes(`{${name}}`) || (figure.dataset.params ?? "").includes(name));
    });
  }
  dark.addEventListener("change", () => redraw(() => true));

  // A chart follows its place's width by itself; only its form changes where the page becomes narrow.
  matchMedia("(max-width: 640px)").addEventListener("change", () => redraw(() => true));
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  // What is folded opens for who comes by its link.
  function unfold() {
    const folded = document.querySelector(`${location.hash || "#short"} > details`);
    if (folded) folded.open = true;
  }
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => { for (const more of document.querySelectorAll("details")) more.open = true; });
  redraw(() => true).then(() => { document.documentElement.dataset.ready = "yes"; });
}
