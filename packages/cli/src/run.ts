import { commands, groups } from './commands.ts'
import { Cli, type Surroundings } from './frame/cli.ts'
import { EXIT, failureLine, UsageError } from './frame/failure.ts'
import { type Help, type Parsed, parse } from './frame/program.ts'

/**
 * Runs one command line and returns its exit code. Never throws: every failure becomes one sentence on the standard
 * error.
 * @param argv without `node` and the program
 * @param signal aborted when the user interrupts the program
 */
export async function run(argv: readonly string[], surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  let form: string | null = null
  try {
    // What the scripts of `offshoot completion` call. Commander would read options in the words.
    if (argv[0] === '__complete') {
      const { complete } = await import('./completion/complete.ts')
      return await complete(argv.slice(1), groups, commands, surroundings)
    }
    const parsed: Parsed | Help = parse(argv, groups, commands)
    if ('help' in parsed) {
      surroundings.stdout.write(parsed.help)
      return 0
    }
    form = parsed.form
    const { run: action } = await parsed.command.load()
    const cli = new Cli(surroundings, signal, parsed.baseUrl)
    try {
      return (await action(cli, parsed.line)) ?? 0
    } finally {
      await cli.settled()
    }
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted
    const { failureOf } = await import('./frame/failure-of.ts')
    const failure = failureOf(error)
    surroundings.stderr.write(`${failureLine(failure)}\n`)
    if (failure instanceof UsageError)
      surroundings.stderr.write(`Usage: ${failure.form ?? form ?? 'offshoot <command>'}\n`)
    return failure.exitCode
  }
}
