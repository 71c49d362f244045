import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { CommandLine } from './cli.ts'

/**
 * Runs the examples of one section of docs/cli.md in their order.
 * @param adapt puts the addresses of the test in place of those in the documentation
 */
export async function runExamples(
  cli: CommandLine,
  section: string,
  adapt = (line: string): string => line,
): Promise<void> {
  const page = await readFile(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  const lines = [...own.matchAll(/^ {4}offshoot (.+)$/gm)].map(([, line = '']) => adapt(line))
  expect(lines.length).toBeGreaterThan(4)
  for (const line of lines) {
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    // psql writes to the terminal of its user.
    const ran = words[1] === 'psql' ? await cli.spawn(words) : await cli.run(words)
    expect({ line, ...ran }).toMatchObject({ line, code: 0 })
  }
}

/** Runs a command line that is refused with this exit code, and returns its one sentence. */
export async function refusal(
  cli: CommandLine,
  code: number,
  argv: readonly string[],
  options: Parameters<CommandLine['run']>[1] = {},
): Promise<string> {
  const ran = await cli.run(argv, options)
  expect({ argv, ...ran }).toMatchObject({ argv, code, stdout: '' })
  const [, sentence = ''] = /^(?:[^]*\n)?offshoot: ([^\n]+)\n(?:Usage: [^\n]+\n)?$/.exec(ran.stderr) ?? []
  return sentence
}
