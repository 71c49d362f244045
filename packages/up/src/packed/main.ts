/**
 * `offshoot up`, `offshoot doctor` and the other commands of the server, in the npm package. It runs with the Node.js of the machine (20 or later), so it is
 * compiled into one file. All but `doctor` lay out the release and run its `bin/up`, which brings its own Node.js.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArguments, type UpArguments } from '../base/arguments.ts'
import { UsageError } from '../base/usage-error.ts'
import { dataLayout, doesDataDirExist } from '../base/data-layout.ts'
import { defaultDataDir, offshootHome, PACKED } from '../base/product.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { addSystemFolders } from '../base/system-folders.ts'
import { usage } from '../base/usage.ts'
import { diagnose } from '../doctor/diagnose.ts'
import { findRelease, layOutRelease, readPackedRelease } from './release.ts'

/**
 * @param argv options of `bin/up`
 * @param files folder of `release.json` and `release.tar.gz`
 * @returns the exit code
 */
export async function up(argv: readonly string[], files: string): Promise<number> {
  return explaining(PACKED.command, async () => {
    const args = parse(argv)
    if (args.command === 'help') return print(usage(PACKED))
    if (process.platform !== 'linux') throw new SetupFailure('Offshoot runs on Linux only.')
    if (args.command === 'doctor') return runDoctor(args, files)
    const isNothingThere = !(await doesDataDirExist(dataLayout(args.dataDir, args.imagesDir)))
    if (args.command === 'down' && isNothingThere) return 0
    return runRelease(argv, files)
  })
}

/** @param argv operands and options of `bin/up backup` */
export const backup = inRelease('backup')
/** @param argv operands and options of `bin/up restore` */
export const restore = inRelease('restore')
/** @param argv operands and options of `bin/up support-bundle` */
export const supportBundle = inRelease('support-bundle')
/** @param argv options of `bin/up install` */
export const install = inRelease('install')
/** @param argv options of `bin/up uninstall` */
export const uninstall = inRelease('uninstall')
/** @param argv options of `bin/up upgrade` */
export const upgrade = inRelease('upgrade')
/** @param argv options of `bin/up rollback` */
export const rollback = inRelease('rollback')

function inRelease(name: string): (argv: readonly string[], files: string) => Promise<number> {
  return (argv, files) => explaining(`${PACKED.subcommands} ${name}`, () => runRelease([name, ...argv], files))
}

async function runRelease(argv: readonly string[], files: string): Promise<number> {
  const release = await layOutRelease(offshootHome(process.env), await readPackedRelease(files), archiveIn(files))
  return runToEnd(join(release, 'bin/up'), argv)
}

/** @param argv options of `bin/up`, which say what is to run here, and `--json` */
export async function doctor(argv: readonly string[], files: string): Promise<number> {
  return explaining('npx offshoot doctor', async () => {
    const args = parse(['--doctor', ...argv])
    if (args.command === 'help') return print(usage(PACKED))
    return runDoctor(args, files)
  })
}

function parse(argv: readonly string[]): UpArguments {
  return parseArguments(argv, process.env, process.cwd(), defaultDataDir(PACKED, process.env))
}

async function runDoctor(args: UpArguments, files: string): Promise<number> {
  addSystemFolders()
  const root = await findRelease(offshootHome(process.env), await readPackedRelease(files))
  const installation = root === null ? null : { root, node: join(root, 'node_modules/.bin/node') }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  return diagnose(args, installation, PACKED, stop.signal)
}

function archiveIn(files: string): string {
  return join(files, 'release.tar.gz')
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/**
 * Runs a program with our terminal. A Ctrl-C reaches it from the terminal, and also us; npm may pass it on to us once
 * more. We forward every signal as SIGHUP, which the program counts only once (`main.ts`).
 */
async function runToEnd(program: string, argv: readonly string[]): Promise<number> {
  const child = spawn(program, argv, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill('SIGHUP'))
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
}

async function explaining(command: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n${command} --help lists the options.\n`)
      return 2
    }
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}
