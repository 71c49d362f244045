import type { Offshoot } from '@offshoot/sdk'
import { Cli, type Surroundings } from '../frame/cli.ts'
import type { Command, Group, Noun, Option } from '../frame/command.ts'
import { optionsOf } from '../frame/program.ts'

/** Milliseconds that a person waits for names of the server. */
const PATIENCE_MS = 2_000
/** The API's limit of a page. */
const PAGE = { query: { limit: 1000 } }
/** Options that every command has, and words that stand where a command does. */
const EVERYWHERE: readonly Option[] = [
  { flags: '--base-url <url>', about: '' },
  { flags: '-h, --help', about: '' },
]
const BESIDE = [
  'help',
  'up',
  'doctor',
  'backup',
  'restore',
  'support-bundle',
  'install',
  'uninstall',
  'upgrade',
  'rollback',
]

type Names = (api: Offshoot) => Promise<string[]>

const idAndName = (all: readonly { id: string; name?: string | null; label?: string | null }[]) =>
  all.flatMap(({ id, name, label }) => [name ?? label ?? '', id])

/** How to list the names that stand for an object of each kind. */
const NAMES: Readonly<Record<Noun, Names | null>> = {
  sandbox: async (api) => {
    const all = await api.list('GET /v1/sandboxes', PAGE).all()
    return all.flatMap(({ id, metadata }) => [metadata['name'] ?? '', id])
  },
  template: async (api) => (await api.list('GET /v1/templates').all()).map(({ name }) => name),
  database: async (api) => idAndName(await api.list('GET /v1/databases', PAGE).all()),
  volume: async (api) => (await api.list('GET /v1/volumes', PAGE).all()).map(({ name }) => name),
  app: async (api) => idAndName(await api.list('GET /v1/apps', PAGE).all()),
  snapshot: async (api) => idAndName(await api.list('GET /v1/snapshots', PAGE).all()),
  // An API key cannot list these.
  workspace: null,
  key: null,
}

/**
 * Prints what may stand in place of the last word of a command line, one on a line. Never fails, because a person only
 * wants to type on.
 * @param words after `offshoot`; the last one is incomplete, and may be empty
 */
export async function complete(
  words: readonly string[],
  groups: readonly Group[],
  commands: readonly Command[],
  surroundings: Surroundings,
): Promise<number> {
  const { before, last, prefix } = splitValue(words)
  const wanted = await candidates(before, last, groups, commands, surroundings).catch(() => [])
  const found = wanted.map((each) => prefix + each)
  const fitting = found.filter((each) => each !== '' && each.startsWith(prefix + last) && !/[\s'"\\$`]/.test(each))
  if (fitting.length > 0) surroundings.stdout.write(`${[...new Set(fitting)].join('\n')}\n`)
  return 0
}

/**
 * Separates the incomplete word from those before it. The word of `--status=pau` is `pau`, and the answer to the shell
 * repeats `--status=`. Bash makes three words of it, and wants only the value.
 */
function splitValue(words: readonly string[]): { before: readonly string[]; last: string; prefix: string } {
  const isJoint = (word: string | undefined, at: number) => word === '=' && words[at - 1]?.startsWith('--') === true
  const before = words.slice(0, -1).filter((word, at) => !isJoint(word, at))
  const last = words.at(-1) ?? ''
  if (isJoint(last, words.length - 1)) return { before, last: '', prefix: '' }
  const [, option, value] = /^(--[a-z-]+)=(.*)$/s.exec(last) ?? []
  if (option === undefined || value === undefined) return { before, last, prefix: '' }
  return { before: [...before, option], last: value, prefix: `${option}=` }
}

async function candidates(
  before: readonly string[],
  last: string,
  groups: readonly Group[],
  commands: readonly Command[],
  surroundings: Surroundings,
): Promise<readonly string[]> {
  const [first, second] = before
  if (first === '--base-url') return candidates(before.slice(2), last, groups, commands, surroundings)
  if (first?.startsWith('--base-url=')) return candidates(before.slice(1), last, groups, commands, surroundings)
  if (first === undefined && last.startsWith('-')) return EVERYWHERE.flatMap(namesOf)
  if (first === undefined) return [...[...commands, ...groups].map(({ name }) => name), ...BESIDE]
  const group = groups.find(({ name }) => name === first)
  if (group !== undefined && second === undefined) return group.commands.map(({ name }) => name)
  const among = group?.commands ?? commands
  const command = among.find(({ name }) => name === (group === undefined ? first : second))
  if (command === undefined) return []
  const rest = before.slice(group === undefined ? 1 : 2)
  const options = [...optionsOf(command), ...EVERYWHERE]
  const open = options.find((option) => takesValue(option) && namesOf(option).includes(rest.at(-1) ?? ''))
  if (open !== undefined) return open.words ?? namesFor(open.names, surroundings)
  if (last.startsWith('-')) return options.flatMap(namesOf)
  const operands = command.operands ?? []
  const index = operandsIn(rest, options)
  const operand = operands[index] ?? operands.findLast(({ form }) => form.includes('...'))
  if (operand === undefined || operand.form.includes('command')) return []
  // A path may stand there too, which the shell completes if nothing else fits.
  if (command.name === 'cp') return last.includes('/') ? [] : suffixed(await namesFor('sandbox', surroundings))
  return operand.words ?? namesFor(operand.names, surroundings)
}

/** Operands among words that are complete. */
function operandsIn(words: readonly string[], options: readonly Option[]): number {
  let count = 0
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) count++
    else if (options.some((option) => takesValue(option) && namesOf(option).includes(word))) at++
  }
  return count
}

const suffixed = (names: readonly string[]) => names.filter((name) => name !== '').map((name) => `${name}:`)

const takesValue = ({ flags }: Option) => flags.includes('<')

/** `-t` and `--template` of `-t, --template <name>`. */
const namesOf = ({ flags }: Option) => flags.replace(/ <.*/, '').split(', ')

async function namesFor(noun: Noun | undefined, surroundings: Surroundings): Promise<readonly string[]> {
  const names = noun === undefined ? null : NAMES[noun]
  if (names === null) return []
  const cli = new Cli(surroundings, AbortSignal.timeout(PATIENCE_MS))
  const late = new Promise<string[]>((resolve) => setTimeout(() => resolve([]), PATIENCE_MS).unref())
  return Promise.race([cli.api().then(names), late])
}
