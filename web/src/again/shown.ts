import { el } from "../dom";
import { quantity } from "../format";
import type { Answer, Value } from "../play/engine";
import type { Run } from "./content";
import { say, words } from "./words";

interface Row {
  name: string;
  stored: Value;
  now: Value;
  unit: string;
}

/** Dialog over the report with the viewer, below a table of new and stored values. */
export class Shown {
  private readonly head = el("div", { class: "again-rows" });
  private readonly place = el("div", { class: "again-frame" });
  private readonly dialog: HTMLDialogElement;

  constructor() {
    const back = el("button", { type: "button", onclick: () => this.dialog.close() }, words.back);
    this.dialog = el(
      "dialog",
      { class: "again-shown", "aria-label": words.run },
      el("header", {}, back, this.head),
      this.place,
    );
    // A recording may take many megabytes: removing the frame frees it.
    this.dialog.addEventListener("close", () => this.place.replaceChildren());
    document.body.append(this.dialog);
  }

  async open(viewer: string, answer: Answer, run: Run, engine: string): Promise<void> {
    const rows = compared(answer, run);
    const name = say("seed", { levels: run.levels, seed: run.seed });
    this.head.replaceChildren(el("p", {}, name), verdict(rows, engine, answer.engine ?? ""), table(rows));
    const frame = el("iframe", { title: words.run });
    const loaded = new Promise((done) => frame.addEventListener("load", done, { once: true }));
    frame.srcdoc = viewer;
    this.place.replaceChildren(frame);
    this.dialog.showModal();
    await loaded;
    const { document: page, vazao } = frame.contentWindow!;
    vazao.view(page.getElementById("view")!, [answer.recording], { names: [name] });
    this.dialog.dataset.drawn = "";
  }
}

/** Rows of the table: events and goodputs, stored and new. */
function compared(answer: Answer, run: Run): Row[] {
  const { runs, flows } = answer.tables!;
  const goodputs = flows?.goodput_bps ?? [];
  const rows = run.goodputs.map((stored, nth) => {
    const name = run.goodputs.length > 1 ? `${words.goodput} ${nth}` : words.goodput;
    return { name, stored, now: goodputs[nth] ?? null, unit: "bit/s" };
  });
  return [...rows, { name: words.events, stored: run.events, now: runs?.events?.[0] ?? null, unit: "" }];
}

function verdict(rows: Row[], stored: string, now: string): HTMLElement {
  if (rows.every((row) => row.stored === row.now)) {
    return el("p", { role: "status", class: "again-same" }, words.same);
  }
  const text = stored === now ? say("differs", { now }) : say("other", { stored, now });
  return el("p", { role: "status", class: "again-differs" }, text);
}

function table(rows: Row[]): HTMLElement {
  const formatted = (value: Value, unit: string) =>
    typeof value === "number" ? quantity(value, unit, 6).replace(".", words.decimal) : "–";
  const heading = (text: string) => el("th", { scope: "col" }, text);
  const body = rows.map(({ name, stored, now, unit }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      el("td", { class: "number" }, formatted(stored, unit)),
      el("td", { class: "number" }, formatted(now, unit)),
    ),
  );
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, el("td"), heading(words.stored), heading(words.now))),
    el("tbody", {}, ...body),
  );
}
