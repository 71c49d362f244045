import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { commands, groups } from './commands.ts'
import { run } from './run.ts'

/** Every command with its group, as words. */
const COMMANDS = [
  ...commands.map((command) => ({ words: [command.name], command })),
  ...groups.flatMap((group) => group.commands.map((command) => ({ words: [group.name, command.name], command }))),
]

/** Command lines that are wrong in one way each. */
const WRONG = COMMANDS.flatMap(({ words, command }) => {
  const { operands = [], options = [], passesOptions = false } = command
  const needed = operands.filter(({ form }) => form.startsWith('<')).map(() => 'x')
  const takesMany = operands.some(({ form }) => form.includes('...'))
  const withValue = options.filter(({ flags }) => flags.includes('<'))
  return [
    [...words, '--nonsense', ...needed],
    [...words, '-Z', ...needed],
    [...words, '--base-url'],
    [...words, '--jsno', ...needed],
    ...(needed.length > 0 ? [words, ...needed.map((_, i) => [...words, ...needed.slice(0, i)])] : []),
    ...(takesMany || passesOptions
      ? []
      : [
          [...words, ...operands.map(() => 'x'), 'extra'],
          [...words, ...operands.map(() => 'x'), 'a', 'b'],
        ]),
    // What follows the operands of such a command belongs to another program.
    ...withValue.map(({ flags }) => [...words, ...(passesOptions ? [] : needed), /--[\w-]+/.exec(flags)?.[0] ?? '']),
    ...withValue.map(({ flags }) => [...words, (/--[\w-]+/.exec(flags)?.[0] ?? '').slice(0, -1) + 'Q', 'x', ...needed]),
  ]
})
/** Command lines whose words do not fit together. */
const UNFIT = [
  'volume ls --attached --free',
  'volume resize data 0',
  'volume create data --size big',
  'volume rm data',
  'volume show .',
  'snapshot rm x',
  'template rm x',
  'template save box web --memory --start true',
  'db create --size 2g',
  'db restore shop yesterday',
  'db restore shop 2026-01-31T12:00:00',
  'db set shop',
  'db rm shop',
  'db logs shop --tail -1',
  'db psql',
  'host label self disk',
  'host label self =nvme',
  'host label self -',
  'host ls --label disk',
  'app set site',
  'app rm site',
  'sandbox set web',
  'sandbox set web --persistent --ttl 1h',
  'sandbox link web 70000',
  'sandbox links web x',
  'app create site x --framework rails',
  'app domains site --add a.example --rm b.example',
  'app domains site --certificate x',
  'app domains site --certificate x --private-key y',
]
const WORDS = ['sandbx', 'sanbox', 'ls', 'crate', 'sandboxes', '--nonsense', '-x', '--base-url', 'help nobody', '']

async function refused(argv: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const outputs = Promise.all([text(stdout), text(stderr)])
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream
  const env = {
    OFFSHOOT_CONFIG: '/nonexistent/config.json',
    OFFSHOOT_API_KEY: 'ofs_secret',
    OFFSHOOT_BASE_URL: 'http://127.0.0.1:1',
  }
  const code = await run(argv, { env, cwd: '/', stdin, stdout, stderr }, new AbortController().signal)
  stdout.end()
  stderr.end()
  const [out, err] = await outputs
  return { argv: argv.join(' '), code, out, err }
}

it('docs/cli.md shows every command', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8')
  const names = COMMANDS.map(({ words }) => words.join(' '))
  // Commands of a group stand beside the first one, as in `key create …`.
  const isShown = (name: string) => page.includes(`offshoot ${name}`) || page.includes(`\`${name}`)
  expect(names.filter((name) => !isShown(name))).toEqual([])
})

describe('a wrong command line', () => {
  const lines = [...WRONG, ...[...UNFIT, ...WORDS].map((word) => word.split(' '))]

  it('gets one sentence, the correct form and exit code 2', async () => {
    const answers = await Promise.all(lines.map(refused))
    const bad = answers.filter(
      ({ code, out, err }) =>
        code !== 2 ||
        out !== '' ||
        !/^offshoot: [^\n]+\nUsage: offshoot [^\n]+\n$/.test(err) ||
        err.includes('ofs_secret'),
    )
    expect(bad).toEqual([])
    expect(lines.length).toBeGreaterThanOrEqual(500)
  })
})

it('a terminal says that the server cannot be reached', async () => {
  const { code, out, err } = await refused(['shell', '00000000-0000-4000-8000-000000000000'])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^offshoot: http:\/\/127\.0\.0\.1:1 cannot be reached[^\n]*\n$/)
})
