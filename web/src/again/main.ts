import { el } from "../dom";
import { Chooser } from "./chooser";
import { content } from "./content";
import { learn, words } from "./words";

/** A click on a mark, as the report's script reports it in the event `vazao-mark`. */
interface Clicked {
  figure: string;
  datum: Record<string, unknown>;
}

/** Makes the page's figures interactive: by a click on a mark, and by a button for keyboard users. */
async function start(): Promise<void> {
  const known = await content();
  learn(known.words);
  let chooser: Chooser | null = null;
  // All figures share one chooser, so that the engine is compiled once.
  const getChooser = () => {
    chooser ??= new Chooser(known);
    return chooser;
  };
  for (const id of Object.keys(known.figures)) {
    const figure = document.getElementById(`figure-${id}`);
    const open = el("button", { type: "button", class: "again-open" }, words.open);
    open.addEventListener("click", () => getChooser().open(id, 0));
    figure?.querySelector(".beneath")?.append(open);
    figure?.classList.add("has-runs");
  }
  document.addEventListener("vazao-mark", (event) => {
    const { figure, datum } = (event as CustomEvent<Clicked>).detail;
    if (figure in known.figures) getChooser().click(figure, datum);
  });
  document.body.dataset.again = "";
}

void start();
