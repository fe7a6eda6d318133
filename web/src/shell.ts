/** Quoting of possibly hostile texts as words to paste into a shell. */

/** Invisible characters: controls except newline, format and direction marks, line and paragraph separators. */
export const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes a text as one word of a POSIX shell. */
export function word(text: string): string {
  const quoted = text.replaceAll("'", "'\\''");
  return `'${quoted.replace(UNSEEN, (letter) => `'"$(printf '${octal(letter)}')"'`)}'`;
}

const octal = (letter: string): string =>
  Array.from(new TextEncoder().encode(letter), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
