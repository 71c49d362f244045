import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander'
import type { Command, Common, Group, Line, Option } from './command.ts'
import { UsageError } from './failure.ts'
import { VERSION } from './version.ts'

/** A command line that was understood: what to run, and with what. */
export interface Parsed {
  readonly command: Command
  readonly line: Line
  readonly baseUrl: string | undefined
  /** For errors that the action itself finds in the command line. */
  readonly form: string
}

/** Help was asked for, and is the result. */
export interface Help {
  readonly help: string
}

/** Commander with errors that carry the command's correct form. It neither writes nor exits by itself. */
class Program extends Commander {
  override createCommand(name?: string): Program {
    return new Program(name)
  }

  override error(message: string): never {
    throw this.withForm(new UsageError(oneSentence(message)))
  }

  withForm(error: unknown): unknown {
    if (error instanceof UsageError) error.form ??= this.form
    return error
  }

  get form(): string {
    return this.createHelp().commandUsage(this)
  }
}

/** Commander's sentence without its prefix, and with the suggestion on the same line. */
function oneSentence(message: string): string {
  return message
    .replace(/^error: /, '')
    .replaceAll("'", '"')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace('(Did you mean ', '(did you mean ')
}

/**
 * Parses a command line without `offshoot`. Throws `UsageError`.
 * @param groups only the group that the command line names is built, so that the start is quick
 */
export function parse(argv: readonly string[], groups: readonly Group[], commands: readonly Command[]): Parsed | Help {
  const program = new Program('offshoot')
  let parsed: Parsed | null = null
  let help = ''
  program
    .description('Sandboxes, templates, databases, volumes and apps of an Offshoot server.')
    .version(VERSION, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addOption(baseUrlOption())
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeOut: (text) => (help += text), writeErr: (text) => (help += text) })
    .configureHelp({ subcommandTerm: termOf })
    .usage('<command>')
  const add = (parent: Program, command: Command) =>
    addCommand(parent, command, (line, built) => {
      const baseUrl =
        (line.options as { baseUrl?: string }).baseUrl ?? (program.opts()['baseUrl'] as string | undefined)
      parsed = { command, line, baseUrl, form: built.form }
    })
  for (const command of commands) add(program, command)
  for (const group of groups) {
    const parent = program.command(group.name).summary(group.summary).description(group.summary).usage('<command>')
    if (argv.includes(group.name)) for (const command of group.commands) add(parent, command)
    parent.action(() => {
      throw parent.withForm(new UsageError(unknownIn(group, parent.args[0])))
    })
    parent.allowExcessArguments()
  }
  program.action(() => {
    const [word] = program.args
    if (word === undefined) program.outputHelp()
    else program.error(`unknown command "${word}"${suggestion(word, [...commands, ...groups])}`)
  })
  program.allowExcessArguments()
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return { help }
    // `help` with a word that names no command.
    if (error instanceof CommanderError && error.code === 'commander.help')
      throw program.withForm(new UsageError(`there is no help for "${argv.slice(1).join(' ')}"`))
    throw error
  }
  return parsed ?? { help }
}

/** A command in a list of commands: its name and its operands. */
function termOf(command: Commander): string {
  const forms = command.registeredArguments.map((each) => {
    const name = `${each.name()}${each.variadic ? '...' : ''}`
    return each.required ? `<${name}>` : `[${name}]`
  })
  return [command.name(), ...forms].join(' ')
}

function unknownIn(group: Group, word: string | undefined): string {
  if (word !== undefined) return `unknown command "${group.name} ${word}"${suggestion(word, group.commands)}`
  return `${group.name} needs a command: ${group.commands.map(({ name }) => name).join(', ')}`
}

/** The name that differs least from a mistyped word, if one is close. */
function suggestion(word: string, all: readonly { readonly name: string }[]): string {
  const close = all
    .map(({ name }) => ({ name, distance: distance(word, name) }))
    .filter((each) => each.distance <= Math.max(1, Math.floor(each.name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0]
  return close === undefined ? '' : ` (did you mean ${close.name}?)`
}

/** Levenshtein's distance; words are short. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[b.length] ?? 0
}

function addCommand(parent: Program, command: Command, found: (line: Line, built: Program) => void): void {
  const built = parent.command(command.name)
  built.summary(command.summary).description(`${command.summary}.`)
  for (const { form, about } of command.operands ?? []) built.argument(form, about)
  for (const option of optionsOf(command)) built.addOption(commanderOption(built, option))
  built.addOption(baseUrlOption())
  if (command.passesOptions === true) built.passThroughOptions()
  const examples = (command.examples ?? []).map((example) => `  offshoot ${example}`)
  if (examples.length > 0) built.addHelpText('after', `\nExamples:\n${examples.join('\n')}`)
  built.action((...args: unknown[]) => {
    // Commander passes the operands, the options and the command.
    const operands = args
      .slice(0, -2)
      .flat()
      .filter((text): text is string => typeof text === 'string')
    found({ operands, options: args.at(-2) as Common }, built)
  })
}

/** The options of a command with those that many have. */
export function optionsOf({ options = [], hasJson, hasQuiet }: Command): readonly Option[] {
  return [
    ...options,
    ...(hasJson === true ? [{ flags: '--json', about: 'print JSON, as the API answers it' }] : []),
    ...(hasQuiet === true ? [{ flags: '-q, --quiet', about: 'print only ids' }] : []),
  ]
}

function commanderOption(command: Program, { flags, about, parse: parseValue }: Option): CommanderOption {
  const option = new CommanderOption(flags, about)
  if (parseValue === undefined) return option
  return option.argParser((text, previous) => {
    try {
      return parseValue(text, previous)
    } catch (error) {
      throw command.withForm(error)
    }
  })
}

function baseUrlOption(): CommanderOption {
  return new CommanderOption('--base-url <url>', 'address of the API (OFFSHOOT_BASE_URL)')
}
