/** Panels beside the view: findings, SQL, numbers. */

import { copier, el } from "../dom";
import { integer } from "../format";
import { word } from "../shell";
import { told } from "./columns";
import { label, type Mark } from "./marks";
import type { State } from "./state";
import type { Directory, Figure, Ledger, Statement, Value } from "./types";

const SIGNS: Record<string, string> = { reproduced: "✓", differs: "✗", undecided: "?", "not testable": "–" };
const MOST_NUMBERS = 400;

/** Ledger of findings: each claim with its verdict, and its details and figures one click away. */
export function findings(
  ledgers: Ledger[],
  directories: Directory[],
  go: (figure: Figure) => (() => void) | null,
): HTMLElement {
  const several = ledgers.length > 1;
  const root = el("div", { class: "findings" });
  for (const { label: name, ledger, error } of ledgers) {
    if (several) root.append(el("h3", {}, name));
    if (error) root.append(el("p", { class: "problem" }, error));
    if (!ledger.length && !error)
      root.append(el("p", { class: "dim" }, "No findings: nothing is claimed here."));
    const drawn = directories.find((one) => one.label === name)?.figures ?? [];
    for (const one of ledger) {
      const verdict = one.verdict.replaceAll(" ", "-");
      const body = el("div", { class: "more" });
      const details = el(
        "details",
        { class: "finding" },
        el(
          "summary",
          {},
          el("span", { class: `verdict ${verdict}`, title: one.verdict }, SIGNS[one.verdict] ?? "?"),
          el(
            "span",
            { class: "claim" },
            one.claim,
            one.level ? el("span", { class: "level" }, ` ${one.per}: ${one.level}`) : null,
            el("span", { class: "measured" }, one.verdict, one.measured ? `: ${one.measured}` : ""),
          ),
        ),
        body,
      );
      details.addEventListener("toggle", () => {
        if (!details.open || body.childElementCount) return;
        const fact = (what: string, text: string): void => {
          if (text) body.append(el("p", {}, el("b", {}, `${what}: `), text));
        };
        fact("Reported", one.reported);
        fact("Criterion", one.criterion);
        fact("Why", one.explanation);
        for (const figure of one.figures) {
          const address = `/figure?${new URLSearchParams({ dir: name, id: figure.id })}`;
          const described = drawn.find((each) => each.id === figure.id);
          const jump = described && go(described);
          body.append(
            el(
              "figure",
              {},
              el("img", { src: address, alt: figure.title, loading: "lazy" }),
              el(
                "figcaption",
                {},
                figure.title,
                jump
                  ? el("button", { type: "button", class: "quiet link", onclick: jump }, "explore it")
                  : null,
              ),
            ),
          );
        }
        if (!body.childElementCount) body.append(el("p", { class: "dim" }, "Nothing more is said of it."));
      });
      root.append(details);
    }
  }
  return root;
}

/** SQL behind the view; the copy button gives a `vazao sql` command, quoted for a shell whatever its values. */
export function sql(statements: Statement[], ms: number): HTMLElement {
  const root = el(
    "div",
    { class: "sql" },
    el(
      "p",
      { class: "dim" },
      `Answered in ${Math.round(ms)} ms. The same rows in a terminal are what is copied: vazao sql DIR 'SELECT …'`,
    ),
  );
  for (const one of statements) {
    const button = copier(
      "copy",
      "copied",
      () => `vazao sql ${word(one.path)} ${word(one.sql)}`,
      "quiet link",
    );
    root.append(
      el(
        "div",
        { class: "statement" },
        el("header", {}, el("span", { class: "dim" }, one.path), button),
        el("pre", { tabindex: 0 }, one.sql),
      ),
    );
  }
  return root;
}

/** Table of the drawing's numbers, in which a keyboard can choose marks as a pointer does. */
export function numbers(all: Mark[], state: State, picked: (mark: Mark) => void): HTMLElement {
  const shown = all.slice(0, MOST_NUMBERS);
  const measure = state.kind === "heat" ? state.z : state.y;
  const cell = (value: unknown, column: string | null): string =>
    typeof value === "number" ? told(value, column ?? "", 4) : label((value ?? null) as Value);
  const heads = [
    state.x && state.kind !== "hist" && state.kind !== "ecdf"
      ? state.x
      : state.kind === "hist"
        ? state.y
        : null,
    state.kind === "heat" ? state.y : "series",
    state.kind === "hist" || state.kind === "ecdf" ? null : (measure ?? "rows"),
    state.kind === "mean" || state.kind === "heat" ? "± 95 %" : null,
    state.kind === "points" ? null : "n",
    "",
  ];
  const rows = shown.map((one) =>
    el(
      "tr",
      {},
      ...[
        heads[0] !== null ? cell(one.x, heads[0] ?? null) : null,
        state.kind === "heat" ? cell(one.row, state.y) : one.series,
        heads[2] !== null ? cell(one.y, measure) : null,
        heads[3] ? cell(one.ci, measure) : null,
        heads[4] ? String(one.n) : null,
      ]
        .filter((one_): one_ is string => one_ !== null)
        .map((text) => el("td", {}, text)),
      el("td", {}, el("button", { type: "button", class: "quiet link", onclick: () => picked(one) }, "runs")),
    ),
  );
  return el(
    "div",
    { class: "scroll" },
    all.length > shown.length
      ? el("p", { class: "dim" }, `The first ${MOST_NUMBERS} of ${integer(all.length)}.`)
      : null,
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el("tr", {}, ...heads.filter((one): one is string => one !== null).map((one) => el("th", {}, one))),
      ),
      el("tbody", {}, ...rows),
    ),
  );
}
