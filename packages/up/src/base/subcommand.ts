import { resolve } from 'node:path'
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { type DataLayout, dataLayout } from './data-layout.ts'
import { defaultDataDir, type Product } from './product.ts'
import { UsageError } from './usage-error.ts'

/** Where and how the user called a command. */
export interface Invocation {
  /** Without the name of the command. */
  readonly argv: readonly string[]
  readonly env: Readonly<NodeJS.ProcessEnv>
  readonly cwd: string
  readonly product: Product
}

/** Module of a command such as `backup`. */
export interface Subcommand {
  /** Errors are those of `bin/up`: UsageError and SetupFailure are told as one sentence. */
  run(invocation: Invocation, stop: AbortSignal): Promise<void>
}

type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

export interface CommandLine<O extends Options> {
  readonly layout: DataLayout
  readonly operands: readonly string[]
  readonly options: { readonly [K in keyof O]?: O[K]['type'] extends 'string' ? string : boolean }
}

/**
 * Parses the options that a command adds to `--data-dir` and `--help`.
 * @param help the text of `--help`
 * @returns `null` if the help was printed
 * @throws {UsageError}
 */
export function parseCommandLine<O extends Options>(
  { argv, env, cwd, product }: Invocation,
  own: O,
  operands: readonly string[],
  help: string,
): CommandLine<O> | null {
  const options: ParseArgsOptionsConfig = { ...own, 'data-dir': { type: 'string' }, help: { type: 'boolean' } }
  const { values, positionals } = parse(argv, options)
  if (values['help'] === true) {
    process.stdout.write(help)
    return null
  }
  if (positionals.length !== operands.length)
    throw new UsageError(
      operands.length === 0 ? `${positionals[0]} is not expected here` : `${operands.join(' ')} is missing`,
    )
  if (Object.values(values).includes('') || positionals.includes('')) throw new UsageError('an argument is empty')
  const dataDir = resolve(cwd, (values['data-dir'] as string | undefined) ?? defaultDataDir(product, env))
  return {
    layout: dataLayout(dataDir, resolve(dataDir, 'images')),
    operands: positionals.map((path) => resolve(cwd, path)),
    options: values as CommandLine<O>['options'],
  }
}

function parse(argv: readonly string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
