import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type CommandLine, PROGRAM } from './cli.ts'

const execute = promisify(execFile)

/** Milliseconds for all command lines of a shell, so that a shell that waits for input fails the test. */
const PATIENCE_MS = 60_000

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export function hasShell(shell: Shell): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, shell)))
}

/** Command lines, and what the shell must offer after each. There is a sandbox `one` with this id. */
export function completions(shell: Shell, id: string): Readonly<Record<string, readonly string[]>> {
  return {
    'offshoot sand': ['sandbox'],
    'offshoot --base-url http://127.0.0.1 sand': ['sandbox'],
    'offshoot sandbox e': ['events', 'exec'],
    'offshoot key ': ['create', 'ls', 'rm'],
    'offshoot sandbox ls --status pau': ['paused'],
    'offshoot sandbox ls --status=pau': [shell === 'bash' ? 'paused' : '--status=paused'],
    'offshoot sandbox create --on-t': ['--on-timeout'],
    'offshoot sandbox pause on': ['one'],
    [`offshoot sandbox pause ${id.slice(0, 6)}`]: [id],
    'offshoot cp on': ['one:'],
    // Bash completes names of files itself; zsh also offers the folder.
    'offshoot cp folder/f': { bash: [], zsh: ['file', 'folder'], fish: ['folder/file'] }[shell],
    'offshoot sandbox create -t mini': ['minimal'],
    'offshoot completion ': ['bash', 'fish', 'zsh'],
  }
}

/** What a shell offers when its user presses Tab after each command line, sorted. There is a file `folder/file`. */
export async function completeIn(shell: Shell, cli: CommandLine, lines: readonly string[]): Promise<string[][]> {
  const bin = join(cli.folder, `bin-${shell}`)
  await mkdir(bin, { recursive: true })
  await mkdir(join(cli.folder, 'folder'), { recursive: true })
  await writeFile(join(cli.folder, 'folder/file'), '')
  await writeFile(join(bin, 'offshoot'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`, { mode: 0o755 })
  const env = { ...process.env, ...cli.env, HOME: cli.folder, PATH: `${bin}:${process.env['PATH'] ?? ''}` }
  const run = async (program: string, args: readonly string[]) =>
    (await execute(program, args, { env, cwd: cli.folder, timeout: PATIENCE_MS })).stdout
  const all = await ASK[shell](run, bin, lines)
  return all.map((offered) => [...new Set(offered)].toSorted().filter((each) => each !== ''))
}

type Run = (program: string, args: readonly string[]) => Promise<string>
type Ask = (run: Run, folder: string, lines: readonly string[]) => Promise<string[][]>

const ASK: Readonly<Record<Shell, Ask>> = {
  async bash(run, _folder, lines) {
    // Readline makes a word of its own of each equals sign.
    const script = `source <(offshoot completion bash)
      for line in "$@"; do
        read -r -a COMP_WORDS <<< "\${line//=/ = }"
        if [[ "$line" == *' ' ]]; then COMP_WORDS+=(''); fi
        COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _offshoot
        (IFS='|'; printf '%s\\n' "\${COMPREPLY[*]}")
      done`
    return split(await run('bash', ['-c', script, 'bash', ...lines]))
  },
  async zsh(run, folder, lines) {
    await writeFile(join(folder, '_offshoot'), await run('offshoot', ['completion', 'zsh']))
    const results = join(folder, 'results')
    await run('zsh', ['-f', join(import.meta.dirname, 'zsh-completion.zsh'), folder, results, ...lines])
    return split(await readFile(results, 'utf8')).map(([, ...offered]) => offered)
  },
  async fish(run, _folder, lines) {
    const script = `offshoot completion fish | source
      for line in $argv; echo (complete -C $line | string join '|'); end`
    return split(await run('fish', ['--no-config', '-c', script, ...lines]))
  },
}

function split(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|'))
}
