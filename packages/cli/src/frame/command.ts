import type { Cli } from './cli.ts'

/**
 * One command of the program. These descriptions are loaded at every start, so their modules import nothing heavy; the
 * action is loaded when the command runs.
 */
export interface Command<Options extends object = object> {
  /** Without `offshoot` and the group: `create` in `offshoot sandbox create`. */
  readonly name: string
  /** One line, without a full stop. */
  readonly summary: string
  /** Operands in commander's form: `<sandbox>`, `[path]`, `[command...]`. */
  readonly operands?: readonly Operand[]
  readonly options?: readonly Option[]
  /** Complete command lines without `offshoot`. */
  readonly examples?: readonly string[]
  /** Options end at the first operand, so that the rest may hold options of another program. */
  readonly passesOptions?: boolean
  /** The output can be JSON (`--json`). */
  readonly hasJson?: boolean
  /** The output can be reduced to ids (`-q`). */
  readonly hasQuiet?: boolean
  /** Loads the action. */
  readonly load: () => Promise<{ readonly run: Action<Options> }>
}

/** Commands that share a first word. */
export interface Group {
  readonly name: string
  readonly summary: string
  readonly commands: readonly Command[]
}

/** `form` is `<name>`, `[name]`, `<name...>` or `[name...]`; angle brackets mean that it is required. */
export interface Operand {
  readonly form: string
  readonly about: string
  /** The kind of object that it names, for completion. */
  readonly names?: Noun
  /** Words that a shell completes. */
  readonly words?: readonly string[]
}

/** Kinds of objects that command lines name, and that shells complete. */
export type Noun = 'sandbox' | 'template' | 'database' | 'volume' | 'app' | 'snapshot' | 'workspace' | 'key'

export interface Option {
  /** Commander's form: `-t, --template <name>`. */
  readonly flags: string
  readonly about: string
  /** Turns the text into a value; throws `UsageError`. May be called several times; gets the value so far. */
  readonly parse?: (text: string, previous: unknown) => unknown
  readonly names?: Noun
  /** Words that a shell completes. */
  readonly words?: readonly string[]
}

/** Agreement to a loss, for programs that cannot answer a question. */
export const YES: Option = { flags: '-y, --yes', about: 'do not ask before something is lost' }

/** What an action gets of the command line. Option names are in camel case, as commander makes them. */
export interface Line<Options extends object = object> {
  readonly operands: readonly string[]
  readonly options: Options & Common
}

/** Options of commands with `hasJson` and `hasQuiet`. */
export interface Common {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** Returns the exit code; nothing means 0. Throws `Failure`, errors of the SDK, or `UsageError`. */
export type Action<Options extends object = object> = (cli: Cli, line: Line<Options>) => Promise<number | void>

/** Keeps the type of the options that the action expects, while all commands stand in one list. */
export function command<Options extends object>(definition: Command<Options>): Command {
  return definition as unknown as Command
}

/** An operand that an action knows to be there, because its form is required. */
export function operand(line: Line, index: number): string {
  return line.operands[index] ?? ''
}
