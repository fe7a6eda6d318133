/** Questions to the server: of those that are asked faster than they are answered, only the last one is sent. */

import type { Answer, Ask } from "./types";

export class Refused extends Error {}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(path, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status === 403) throw new Refused((await answer.text()).trim());
  const told = (await answer.json()) as T & { error?: string };
  if (!answer.ok) throw new Refused(told.error ?? `the server answers ${answer.status}`);
  return told;
}

export const tell = <T>(path: string): Promise<T> => post<T>(path, {});
export const ask = (question: Ask): Promise<Answer> => post<Answer>("/api/ask", question);

/** One view's questions: while one is under way, later ones take each other's place. */
export class Latest {
  private busy = false;
  private next: (() => Promise<void>) | null = null;

  run(question: () => Promise<void>): void {
    this.next = question;
    if (!this.busy) void this.drain();
  }

  private async drain(): Promise<void> {
    this.busy = true;
    while (this.next) {
      const now = this.next;
      this.next = null;
      await now();
    }
    this.busy = false;
  }
}
