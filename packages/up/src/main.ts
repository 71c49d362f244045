import type { Subcommand } from './base/subcommand.ts'
import { parseArguments, type UpArguments } from './base/arguments.ts'
import { UsageError } from './base/usage-error.ts'
import { type DataLayout, dataLayout } from './base/data-layout.ts'
import { down } from './down.ts'
import { become, failedTrial, HAND_OVER_SIGNAL, OWN_PROGRAM, requestedProgram } from './handover.ts'
import { diagnose } from './doctor/diagnose.ts'
import { prepare } from './prepare.ts'
import { currentProduct, defaultDataDir } from './base/product.ts'
import { repositoryRoot } from './base/repository.ts'
import { signInLink } from './sign-in-link.ts'
import { up } from './up.ts'
import { addSystemFolders } from './base/system-folders.ts'
import { usage } from './base/usage.ts'

const product = currentProduct()

/** Commands that work beside the service. Only the one that is used is loaded. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  backup: () => import('./backup/backup-command.ts'),
  restore: () => import('./backup/restore-command.ts'),
  'support-bundle': () => import('./support-bundle/support-bundle-command.ts'),
  install: () => import('./systemd/install-command.ts'),
  uninstall: () => import('./systemd/uninstall-command.ts'),
  upgrade: () => import('./upgrade-command.ts'),
  rollback: () => import('./rollback-command.ts'),
}

/** The user ended the program: no error message. */
class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** Another version is to go on in this process. */
class HandingOver extends Error {
  override readonly name = 'HandingOver'
}

/** @returns the exit code: 0 ended on request, 1 failed, 2 invalid command line */
async function main(): Promise<number> {
  addSystemFolders()
  const stop = new AbortController()
  const hurry = new AbortController()
  const onSignal = () => (stop.signal.aborted ? hurry : stop).abort(new Stopped())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  // `offshoot up` forwards its signals as SIGHUP. One Ctrl-C then arrives more than once and must not count as two.
  process.on('SIGHUP', () => stop.abort(new Stopped()))
  process.on(HAND_OVER_SIGNAL, () => stop.abort(new HandingOver()))
  const [argv, { env }, cwd] = [process.argv.slice(2), process, process.cwd()]
  try {
    const command = SUBCOMMANDS[argv[0] ?? '']
    if (command !== undefined) {
      await (await command()).run({ argv: argv.slice(1), env, cwd, product }, stop.signal)
      return 0
    }
    const args = parseArguments(argv, env, cwd, defaultDataDir(product, env))
    return (await runCommandLine(args, stop.signal, hurry.signal)) ?? 0
  } catch (error) {
    return explain(error, stop.signal, argv[0])
  }
}

/** @returns the exit code, if it is not 0 */
async function runCommandLine(args: UpArguments, stop: AbortSignal, hurry: AbortSignal): Promise<number | void> {
  switch (args.command) {
    case 'help':
      process.stdout.write(usage(product))
      return
    case 'doctor':
      return diagnose(args, { root: repositoryRoot, node: process.execPath }, product, stop)
    case 'down':
      return down(args)
    case 'sign-in-link':
      return signInLink(args, stop)
    case 'prepare':
      return args.isDataDirNamed ? up(args, stop, hurry) : prepare(args, stop)
    case 'up':
      return upOrHandOver(args, stop, hurry)
  }
}

/** Runs until the end. Becomes another version if it is asked to, or if this one is on trial and cannot start. */
async function upOrHandOver(args: UpArguments, stop: AbortSignal, hurry: AbortSignal): Promise<void> {
  const failure: { readonly error: unknown } | null = await up(args, stop, hurry).then(
    () => null,
    (error: unknown) => ({ error }),
  )
  const next = await nextProgram(dataLayout(args.dataDir, args.imagesDir), failure, stop)
  if (next !== null) become(next, process.argv.slice(2))
  if (failure !== null) throw failure.error
}

async function nextProgram(
  layout: DataLayout,
  failure: { readonly error: unknown } | null,
  stop: AbortSignal,
): Promise<string | null> {
  // If the other version has vanished meanwhile, this one goes on.
  if (stop.reason instanceof HandingOver) return (await requestedProgram(layout)) ?? OWN_PROGRAM
  if (failure === null || stop.aborted) return null
  const back = await failedTrial(layout, failure.error)
  if (back !== null) process.stderr.write(`${textOf(failure.error)}\nGoing back to ${back}.\n`)
  return back
}

function explain(error: unknown, stop: AbortSignal, first = ''): number {
  if (stop.aborted) return first in SUBCOMMANDS ? 1 : 0
  if (error instanceof UsageError) {
    const command = first in SUBCOMMANDS ? `${product.subcommands} ${first}` : product.command
    process.stderr.write(`${error.message}\n${command} --help lists the options.\n`)
    return 2
  }
  process.stderr.write(`${textOf(error)}\n`)
  return 1
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

process.exit(await main())
