/** Controls above the view: its kind, its columns, its scales. */

import { choice, el, tick } from "../dom";
import { title } from "./columns";
import type { Desk } from "./desk";
import { Latest } from "./server";
import { KINDS, type State } from "./state";
import { FIRST } from "./survey";
import type { Column, Kind, TableName } from "./types";

type Option = [string, string];

export class Controls {
  readonly root = el("div", { class: "controls" });
  private readonly latest = new Latest();

  /** `other` switches to other rows: another table, or another part of the study. */
  constructor(
    private readonly desk: Desk,
    private readonly other: (changes: Partial<State>) => void,
  ) {}

  show(): void {
    const { kind, logX, logY } = this.desk.state;
    const views = el(
      "div",
      { class: "kinds", role: "radiogroup", "aria-label": "kind of view" },
      ...KINDS.map(([one, text]) =>
        el(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": one === kind ? "true" : "false",
            onclick: () => this.kind(one),
          },
          text,
        ),
      ),
    );
    const scales = el(
      "div",
      { class: "scales" },
      tick("log x", logX, (on) => this.desk.change({ logX: on })),
      kind === "ecdf" ? null : tick("log y", logY, (on) => this.desk.change({ logY: on })),
    );
    this.root.replaceChildren(
      el("div", { class: "views" }, views, scales),
      el("div", { class: "choices" }, ...this.choices()),
    );
  }

  private choices(): (HTMLElement | null)[] {
    const { survey, state } = this.desk;
    const { kind, table, part, x, y, z, color, facet } = state;
    const [every, measures, group] = this.columns();
    const tables = Object.keys(survey.about.tables).map((name): Option => [name, name]);
    const parts = survey.parts();
    const set =
      (key: keyof State) =>
      (value: string): void =>
        this.desk.change({ [key]: value || null } as Partial<State>);
    const rows = choice("rows", tables, table, (value) => this.other({ table: value as TableName }));
    const ofPart =
      parts.length > 1 ? choice("part", parts, part ?? "", (value) => this.other({ part: value })) : null;
    if (kind === "heat")
      return [
        rows,
        ofPart,
        choice("y", options(every), y ?? "", (value) => this.measure(value)),
        choice("colour", options(measures, "number of rows"), z ?? "", set("z")),
        choice("x", options(every, "–"), x ?? "", set("x")),
      ];
    return [
      rows,
      ofPart,
      choice("measure", options(measures), y ?? "", (value) => this.measure(value)),
      kind === "hist" || kind === "ecdf"
        ? null
        : choice("x", options(every, kind === "points" ? undefined : "–"), x ?? "", set("x")),
      choice("colour", options(group, "–"), color ?? "", set("color")),
      choice("side by side", options(group, "–"), facet ?? "", set("facet")),
    ];
  }

  /** Names of all columns, of the measures, and of the columns to group rows by. */
  private columns(): [string[], string[], string[]] {
    const { survey, state } = this.desk;
    const known = new Map(survey.columns(state.table).map((one): [string, Column] => [one.name, one]));
    const factors = survey.factors(state.part);
    const all = new Set([...factors, ...known.keys()]);
    const every = [
      ...(survey.several ? ["results"] : []),
      ...[...all].filter((name) => known.has(name) && name !== "run_id"),
    ];
    const rivals = survey.rivals(state.table);
    const group = every.filter(
      (name) => factors.includes(name) || known.get(name)?.kind !== "number" || rivals.includes(name),
    );
    return [every, survey.numbers(state.table).map((one) => one.name), group];
  }

  /** Draws another measure, on a logarithmic scale if its values are far apart. */
  private measure(y: string): void {
    this.latest.run(async () => {
      const { survey, state } = this.desk;
      try {
        await survey.domain(y, state);
      } catch (error) {
        this.desk.failed(error);
      }
      this.desk.change({ y, ...(state.kind === "heat" ? {} : { logY: survey.wide(y) }) }, "controls");
    });
  }

  private kind(kind: Kind): void {
    const { survey, state } = this.desk;
    const [first, second] = survey.axes(state.part);
    const numbers = survey.numbers(state.table).map((one) => one.name);
    const more: Partial<State> = {};
    if (kind === "heat")
      Object.assign(more, {
        x: state.x ?? first ?? null,
        z: state.z ?? state.y,
        y: state.color ?? second ?? state.y,
      });
    if (state.kind === "heat" && kind !== "heat") more.y = state.z ?? survey.measures(state.table).y;
    if (kind === "points" && !numbers.some((name) => name === state.x))
      more.x = FIRST.find((name) => name !== state.y && numbers.includes(name)) ?? null;
    if (state.kind === "points" && kind !== "points") more.x = first ?? null;
    const next = { ...state, ...more };
    if (kind === "hist" || kind === "ecdf") Object.assign(more, { logX: survey.wide(next.y), logY: false });
    else Object.assign(more, { logX: survey.wide(next.x), logY: survey.wide(next.y) });
    this.desk.change({ kind, ...more }, "controls");
  }
}

function options(names: string[], none?: string): Option[] {
  const named = names.map((name): Option => [name, title(name)]);
  return none === undefined ? named : [["", none], ...named];
}
