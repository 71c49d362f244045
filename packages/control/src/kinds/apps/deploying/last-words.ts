/** Characters that are told of a line. */
const MAX_CHARS = 500
const OF_NPM = /^npm (error|ERR!)( |$)/
/** What npm says around its reason: by what it can be found, and where more is written. */
const AROUND =
  /^(code|errno|syscall|path|command|dest|file|cwd|signal|workspace|location|a complete log|for a full report)\b/i

/**
 * Why a program ended, by what it said: as a rule its last line. npm says why first, and then for a page how it is used.
 * @param text the end of its output
 */
export function lastWords(text: string): string | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const last = lines.at(-1)
  const ofNpm = last !== undefined && OF_NPM.test(last) ? reasonOfNpm(lines) : undefined
  return (ofNpm ?? last)?.slice(0, MAX_CHARS)
}

/** Of its last failure: what was said before is of a program that npm ran. */
function reasonOfNpm(lines: readonly string[]): string | undefined {
  const start = lines.findLastIndex((line) => !line.startsWith('npm ')) + 1
  const said = lines.slice(start).flatMap((line) => (OF_NPM.test(line) ? [line.replace(OF_NPM, '').trim()] : []))
  return said.find((line) => line !== '' && !AROUND.test(line))
}
