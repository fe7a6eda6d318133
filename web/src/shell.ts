/** Texts, which may be a stranger's, as words of what somebody pastes into a shell. */

/** Letters that are no sight: controls but for a new line, marks of direction, separators of lines. */
export const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text as a word of a POSIX shell. */
export function word(text: string): string {
  const quoted = text.replaceAll("'", "'\\''");
  return `'${quoted.replace(UNSEEN, (letter) => `'"$(printf '${octal(letter)}')"'`)}'`;
}

const octal = (letter: string): string =>
  Array.from(new TextEncoder().encode(letter), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
