// Brings the still figures to life as they come into view. Without it the page is complete, but still.

const NARROWEST = 250; // a panel's least width, in CSS pixels, before panels are stacked

const words = JSON.parse(document.getElementById("words").textContent);

const SHAPES = {
  "circle": "M11,2.5a3.5,3.5 0 1 0 0.001,0Z",
  "square": "M8,3h6v6h-6Z",
  "triangle-up": "M11,2l4,7.5h-8Z",
  "triangle-down": "M11,10l4,-7.5h-8Z",
  "triangle-right": "M15,6l-7.5,4v-8Z",
  "triangle-left": "M7,6l7.5,4v-8Z",
  "diamond": "M11,1.5l4,4.5l-4,4.5l-4,-4.5Z",
  "cross": "M9.5,2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5Z",
};

/** Rows, as Vega wants them, from columns, as the page stores them. */
function rowsOf(columns) {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({ length }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

/** A value of a table; a number with the mark that the page's language has. */
function written(value) {
  return typeof value === "number" ? String(value).replace(".", words.decimal) : value ?? "–";
}

const tip = Object.assign(document.createElement("div"), { id: "tooltip", hidden: true });
tip.setAttribute("role", "tooltip");
document.body.append(tip);

/** Shows a mark's values beside the pointer, inside the window. */
function showTooltip(_, event, item, value) {
  tip.hidden = value === null || value === undefined || value === "";
  if (tip.hidden) return;
  tip.replaceChildren(...Object.entries(value).flatMap(([name, text]) => [
    Object.assign(document.createElement("span"), { textContent: name }),
    Object.assign(document.createElement("b"), { textContent: text }),
  ]));
  const { width, height } = tip.getBoundingClientRect();
  const gap = 14;
  const beside = event.clientX + gap + width < innerWidth ? event.clientX + gap : event.clientX - gap - width;
  const below = event.clientY + gap + height < innerHeight ? event.clientY + gap : event.clientY - gap - height;
  tip.style.left = `${Math.max(6, Math.min(beside, innerWidth - width - 6))}px`;
  tip.style.top = `${Math.max(6, below)}px`;
}

class Figure {
  constructor(canvas) {
    this.canvas = canvas;
    this.holder = canvas.closest("figure");
    this.page = JSON.parse(this.holder.querySelector("script").textContent);
    this.datasets = Object.fromEntries(Object.entries(this.page.tables).map(([k, v]) => [k, rowsOf(v)]));
    this.picked = null;
  }

  /** Panels side by side in the width there is. */
  columns() {
    const { spec } = this.page;
    return spec.facet ? Math.max(1, Math.min(spec.columns, Math.floor(this.canvas.clientWidth / NARROWEST))) : 1;
  }

  async show() {
    const spec = { ...this.page.spec, datasets: this.datasets };
    this.shownColumns = this.columns();
    if (spec.facet) spec.columns = this.shownColumns;
    const stage = document.createElement("div");
    stage.style.cssText = "position:absolute;visibility:hidden;width:100%";
    this.canvas.append(stage);
    const { view } = await vegaEmbed(stage, spec, {
      mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTooltip,
      ast: true, // the page's policy lets no text become code
    });
    this.view?.finalize();
    this.view = view;
    await this.fit();
    stage.style.cssText = "";
    this.canvas.replaceChildren(stage);
    view.addEventListener("click", (_, item) => this.clicked(item));
    this.holder.dataset.live = "";
    if (this.page.legend.length > 1 && !this.legend) this.addLegend();
    if (this.picked !== null) view.signal("picked", this.picked).run();
  }

  /** Tells who runs runs again of the row that a click is on; around a point its cell answers for it. */
  clicked(item) {
    const datum = item?.datum?.datum ?? item?.datum;
    if (!datum) return;
    const figure = this.holder.id.replace("figure-", "");
    document.dispatchEvent(new CustomEvent("vazao-mark", { detail: { figure, datum } }));
  }

  /** Give the panels the width there is beside the axes. */
  async fit() {
    const signal = this.page.spec.facet ? "child_width" : "width";
    for (let pass = 0; pass < 2; pass++) { // labels change with the width, and what is around the panels with them
      const whole = this.view.container().querySelector("svg").viewBox.baseVal.width;
      const around = whole - this.shownColumns * this.view.signal(signal);
      const panel = Math.max(110, Math.floor((this.canvas.clientWidth - around) / this.shownColumns));
      if (panel === this.view.signal(signal)) return;
      await this.view.signal(signal, panel).resize().runAsync();
    }
  }

  resized() {
    if (this.canvas.clientWidth === this.lastWidth) return;
    this.lastWidth = this.canvas.clientWidth;
    if (this.columns() === this.shownColumns) this.fit();
    else this.show();
  }

  addLegend() {
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.legend.setAttribute("aria-label", words.series);
    for (const { label, color, shape, dash } of this.page.legend) {
      const line = shape === null || this.page.lines
        ? `<path d="M0,6h22" stroke="${color}" stroke-width="2" fill="none" stroke-dasharray="${dash}"/>` : "";
      const mark = shape === null ? "" : `<path d="${SHAPES[shape]}" fill="${color}"/>`;
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const box = line ? "0 0 22 12" : "5 0 12 12";
      button.innerHTML = `<svg viewBox="${box}" aria-hidden="true">${line}${mark}</svg>`;
      button.append(label);
      button.addEventListener("click", () => this.pick(this.picked === label ? null : label));
      button.dataset.label = label;
      const item = document.createElement("li");
      item.append(button);
      this.legend.append(item);
    }
    this.canvas.before(this.legend);
  }

  /** Highlight one series, or none. */
  pick(label) {
    this.picked = label;
    this.legend.classList.toggle("picking", label !== null);
    for (const button of this.legend.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.label === label));
    this.view.signal("picked", label).run();
  }

  /** The figure's numbers as a table. */
  tabulate(box) {
    const rows = this.datasets.rows;
    const most = 500;
    const names = rows.length ? Object.keys(rows[0]) : [];
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of names) head.append(Object.assign(document.createElement("th"), { textContent: name, scope: "col" }));
    const body = table.createTBody();
    for (const row of rows.slice(0, most)) {
      const line = body.insertRow();
      for (const name of names) line.insertCell().textContent = written(row[name]);
    }
    if (rows.length > most) table.createCaption().textContent = words.first.replace("{most}", most).replace("{all}", rows.length);
    box.replaceChildren(table);
  }
}

const figures = new Map();
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const figure = new Figure(target);
    figures.set(target, figure);
    figure.lastWidth = target.clientWidth;
    figure.show().then(() => resizes.observe(target));
  }
}, { rootMargin: "300px" });
const resizes = new ResizeObserver((entries) => entries.forEach(({ target }) => figures.get(target).resized()));

document.querySelectorAll(".chart .canvas").forEach((canvas) => seen.observe(canvas)); // the figure beside the answer stays still
for (const details of document.querySelectorAll("details.numbers")) {
  const tabulate = () => {
    const canvas = details.closest("figure").querySelector(".canvas");
    if (canvas) (figures.get(canvas) ?? new Figure(canvas)).tabulate(details.querySelector(".scroll"));
  };
  if (details.open) tabulate();
  else details.addEventListener("toggle", tabulate, { once: true });
}
