/** A word as a shell reads it: plain characters, parts in single quotes, and escaped characters. */
const WORD = /(?:[^\s'\\]|'[^']*(?:'|$)|\\.)+/gs

/**
 * The program and arguments of a command line, as a list of commands shows it. A long one is cut there, perhaps within a
 * quote.
 */
export function parseCommandLine(line: string): string[] {
  return [...line.matchAll(WORD)].map(([word]) =>
    word.replaceAll(/'([^']*)(?:'|$)|\\(.)/gs, (_part, quoted?: string, escaped?: string) => quoted ?? escaped ?? ''),
  )
}
