import { parseArguments, type UpArguments } from './base/arguments.ts'
import { UsageError } from './base/usage-error.ts'
import { down } from './down.ts'
import { prepare } from './prepare.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { up } from './up.ts'
import { USAGE } from './base/usage.ts'

/** The user ended the program: no error message. */
class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** Programs such as nft and mke2fs are here. Debian leaves these folders out of the PATH of users other than root. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** @returns the exit code: 0 ended on request, 1 failed, 2 invalid command line */
async function main(): Promise<number> {
  const path = (process.env['PATH'] ?? '/usr/bin:/bin').split(':')
  process.env['PATH'] = [...path, ...SYSTEM_FOLDERS.filter((folder) => !path.includes(folder))].join(':')
  const stop = new AbortController()
  const hurry = new AbortController()
  const onSignal = () => (stop.signal.aborted ? hurry : stop).abort(new Stopped())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  try {
    await runCommandLine(parseArguments(process.argv.slice(2), process.env, process.cwd()), stop.signal, hurry.signal)
    return 0
  } catch (error) {
    return explain(error, stop.signal)
  }
}

async function runCommandLine(args: UpArguments, stop: AbortSignal, hurry: AbortSignal): Promise<void> {
  switch (args.command) {
    case 'help':
      process.stdout.write(USAGE)
      return
    case 'down':
      return down(args)
    case 'prepare':
      return args.isDataDirNamed ? up(args, stop, hurry) : prepare(args, stop)
    case 'up':
      return up(args, stop, hurry)
  }
}

function explain(error: unknown, stop: AbortSignal): number {
  if (stop.aborted) return 0
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\nbin/up --help lists the options.\n`)
    return 2
  }
  const text = error instanceof SetupFailure ? error.message : error instanceof Error ? error.message : String(error)
  process.stderr.write(`${text}\n`)
  return 1
}

process.exit(await main())
