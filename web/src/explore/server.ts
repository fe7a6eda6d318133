/** Requests to the server; if they come faster than their answers, only the latest is sent. */

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
  const content = (await answer.json()) as T & { error?: string };
  if (!answer.ok) throw new Refused(content.error ?? `the server answers ${answer.status}`);
  return content;
}

export const tell = <T>(path: string): Promise<T> => post<T>(path, {});
export const ask = (question: Ask): Promise<Answer> => post<Answer>("/api/ask", question);

/** One view's requests: while one is pending, each later one replaces the one that waits. */
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
