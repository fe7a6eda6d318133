import { el } from "../dom";
import { Chooser } from "./chooser";
import { content } from "./content";
import { learn, words } from "./words";

/** A click on a mark, as the report's script tells it. */
interface Clicked {
  figure: string;
  datum: Record<string, unknown>;
}

/** Makes the figures of the page answer: to a click on a mark, and to a button that the keyboard reaches. */
async function start(): Promise<void> {
  const known = await content();
  learn(known.words);
  let chooser: Chooser | null = null;
  // Each use begins anew with the figure, but the engine is compiled once.
  const chosen = () => {
    chooser ??= new Chooser(known);
    return chooser;
  };
  for (const id of Object.keys(known.figures)) {
    const figure = document.getElementById(`figure-${id}`);
    const open = el("button", { type: "button", class: "again-open" }, words.open);
    open.addEventListener("click", () => chosen().open(id, 0));
    figure?.querySelector(".beneath")?.append(open);
    figure?.classList.add("has-runs");
  }
  document.addEventListener("vazao-mark", (event) => {
    const { figure, datum } = (event as CustomEvent<Clicked>).detail;
    if (figure in known.figures) chosen().click(figure, datum);
  });
  document.body.dataset.again = "";
}

void start();
