/** Colours of the drawings: the palette of Okabe and Ito, which is safe for colour-blind readers. */

export interface Theme {
  dark: boolean;
  paper: string;
  ink: string;
  soft: string;
  grid: string;
  tick: string;
  /** New data, by path. */
  data: string[];
  /** Retransmissions, by reason. */
  again: string[];
  ack: string;
  window: string;
  sack: string;
  drop: string;
  /** Lines of a panel. */
  lines: string[];
  /** Overlaid runs: none has the colour of a retransmission. */
  runs: string[];
  /** States of a sender, by number. */
  bands: string[];
  /** What a sender waits for, by number; nothing where it waits for nothing any more. */
  limits: string[];
}

const LIGHT: Theme = {
  dark: false,
  paper: "#ffffff",
  ink: "#1b1f24",
  soft: "#57606a",
  grid: "#eceff2",
  tick: "#c4cbd2",
  data: ["#0072b2", "#56b4e9", "#7a7a7a", "#b8a800"],
  again: ["#d55e00", "#e69f00", "#8c2d04", "#b8a800"],
  ack: "#009e73",
  window: "#8a939c",
  sack: "#cc79a7",
  drop: "#1b1f24",
  lines: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#57606a"],
  runs: ["#0072b2", "#009e73", "#8a6d00", "#57606a", "#56b4e9"],
  bands: [
    "#ffffff",
    "#56b4e9",
    "#e69f00",
    "#d55e00",
    "#cc79a7",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#8c564b",
    "#9467bd",
    "#7f7f7f",
    "#17becf",
  ],
  limits: [
    "#8a939c",
    "#d5dbe1",
    "#8c564b",
    "#d55e00",
    "#e69f00",
    "#8fd0f2",
    "#0072b2",
    "#cc79a7",
    "#009e73",
    "#1b1f24",
    "#7b5ea7",
    "#f0e442",
  ],
};

const DARK: Theme = {
  dark: true,
  paper: "#14181c",
  ink: "#e8eaed",
  soft: "#a5afb9",
  grid: "#22282f",
  tick: "#475059",
  data: ["#56b4e9", "#2f86c4", "#9aa4ad", "#f0e442"],
  again: ["#ff7a1a", "#e69f00", "#c8552a", "#f0e442"],
  ack: "#1fc497",
  window: "#7d8791",
  sack: "#e193bf",
  drop: "#ffffff",
  lines: ["#56b4e9", "#ff7a1a", "#1fc497", "#e193bf", "#e69f00", "#3d8fd1", "#a5afb9"],
  runs: ["#56b4e9", "#1fc497", "#f0e442", "#a5afb9", "#3d8fd1"],
  bands: ["#14181c", ...LIGHT.bands.slice(1)],
  limits: [...["#7d8791", "#39424b"], ...LIGHT.limits.slice(2, 9), "#f5f7f9", ...LIGHT.limits.slice(10)],
};

const KEY = "vazao-theme";
const system = () => matchMedia("(prefers-color-scheme: dark)");

/** The current theme: the reader's choice, or else the system's. */
export class Themes {
  private chosen: "light" | "dark" | null = null;

  constructor(private readonly changed: () => void) {
    try {
      const kept = localStorage.getItem(KEY);
      if (kept === "light" || kept === "dark") this.chosen = kept;
    } catch {
      // A page from a file may have no storage; then the choice lasts as long as the page.
    }
    system().addEventListener("change", () => this.apply());
    this.mark();
  }

  get current(): Theme {
    return (this.chosen ? this.chosen === "dark" : system().matches) ? DARK : LIGHT;
  }

  toggle(): void {
    this.chosen = this.current.dark ? "light" : "dark";
    try {
      localStorage.setItem(KEY, this.chosen);
    } catch {
      // Without storage, the choice lasts as long as the page.
    }
    this.apply();
  }

  private apply(): void {
    this.mark();
    this.changed();
  }

  private mark(): void {
    document.documentElement.dataset.theme = this.current.dark ? "dark" : "light";
  }
}
