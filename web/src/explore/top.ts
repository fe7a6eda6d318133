/** The page's header: the name of the results, and controls of the page as a whole. */

import { button, copier, el } from "../dom";
import { integer } from "../format";
import type { About } from "./types";

/** Builds the header; `cleared` removes all filters. */
export function top(about: About, counted: HTMLElement, cleared: () => void): HTMLElement {
  const { directories } = about;
  const [one] = directories;
  const several = directories.length > 1;
  const heading = several ? `${directories.length} results` : (one?.title ?? "");
  document.title = `${heading} – Vazão explore`;
  const runs = directories.reduce((sum, each) => sum + each.runs, 0);
  const planned = directories.reduce((sum, each) => sum + each.planned, 0);
  const name = el(
    "div",
    { class: "name" },
    el("span", { class: "brand" }, "Vazão"),
    el("h1", { title: one?.question ?? "" }, heading),
    el(
      "span",
      { class: "dim" },
      several ? directories.map((each) => each.label).join(", ") : (one?.path ?? ""),
      ` · ${integer(runs)} of ${integer(planned)} runs`,
    ),
  );
  const actions = el(
    "div",
    { class: "actions" },
    counted,
    el("button", { type: "button", class: "reset", onclick: cleared }, "Clear"),
    copier("Copy link", "Copied", () => location.href),
    button("◐", "dark or light", theme),
  );
  return el("header", { class: "top" }, name, actions);
}

function theme(): void {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}
