/** Characters kept of a line. */
const MAX_CHARS = 500
const OF_NPM = /^npm (error|ERR!)( |$)/
/** Lines that npm prints around its reason: error codes, paths, and hints about its log. */
const AROUND =
  /^(code|errno|syscall|path|command|dest|file|cwd|signal|workspace|location|a complete log|for a full report)\b/i

/**
 * Why a program failed, taken from its output: usually the last line. npm prints the reason first, and then much about
 * its usage.
 * @param text the end of the output
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

/** Only npm's last failure counts: earlier lines belong to a program that npm ran. */
function reasonOfNpm(lines: readonly string[]): string | undefined {
  const start = lines.findLastIndex((line) => !line.startsWith('npm ')) + 1
  const said = lines.slice(start).flatMap((line) => (OF_NPM.test(line) ? [line.replace(OF_NPM, '').trim()] : []))
  return said.find((line) => line !== '' && !AROUND.test(line))
}
