import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { Offshoot } from './offshoot.ts'

const repository = resolve(import.meta.dirname, '../..')
/** Defines the command and its key. */
const PREPARATION = 2
const END = '== end\n'

interface Block {
  readonly kind: 'sh' | 'text'
  readonly content: string
}

/**
 * Runs steps of docs/tutorial.md in one shell.
 * @param replaced addresses on the Internet, and the local ones that stand for them
 * @returns the lines that the page shows as output, but that the commands above them did not print
 */
export async function runTutorial(
  offshoot: Offshoot,
  steps: readonly number[],
  replaced: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-tutorial-'))
  try {
    const local = Object.entries({
      'http://127.0.0.1:8080': offshoot.credentials.base_url,
      '.offshoot/credentials.json': join(offshoot.dataDir, 'credentials.json'),
      ...replaced,
    })
    const blocks = (await Promise.all([PREPARATION, ...steps].map(blocksOf))).flat()
    const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ content }) => `${content}printf '${END}'`)
    const script = local.reduce((page, [from, to]) => page.replaceAll(from, to), commands.join('\n'))
    const env = { ...process.env, OFFSHOOT_CONFIG: join(folder, 'config.json') }
    const shell = spawn('bash', ['-eu', '-o', 'pipefail'], { cwd: repository, env })
    shell.stdin.end(script)
    const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)])
    const outputs = stdout.split(END)
    expect({ ended: outputs.length - 1, stderr }).toMatchObject({ ended: commands.length })
    let output = ''
    return blocks.flatMap(({ kind, content }) => {
      if (kind === 'sh') output = outputs.shift() ?? ''
      return kind === 'sh'
        ? []
        : content
            .trim()
            .split('\n')
            .filter((line) => !output.includes(line))
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function blocksOf(step: number): Promise<readonly Block[]> {
  const page = await readFile(join(repository, 'docs/tutorial.md'), 'utf8')
  const [, after = ''] = page.split(`\n## ${step}. `)
  const [own = ''] = after.split('\n## ')
  const blocks = [...own.matchAll(/^```(sh|text)\n(.*?)^```$/gms)]
  expect(blocks.length).toBeGreaterThan(0)
  return blocks.map(([, kind, content = '']) => ({ kind: kind as Block['kind'], content }))
}
