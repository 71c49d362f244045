/**
 * Reports whether this machine can run Offshoot. Changes nothing: checks that need files use a temporary folder and
 * remove it. It also runs with the Node.js of the machine, before anything is installed (`packed/main.ts`).
 */
import { join } from 'node:path'
import { isAlive } from '@offshoot/kit/process-identity'
import { canAccess } from '../base/can-access.ts'
import type { UpArguments } from '../base/arguments.ts'
import { dataLayout } from '../base/data-layout.ts'
import type { Product } from '../base/product.ts'
import { readRunningRecord } from '../services/running-record.ts'
import { type Check, type Finding, type Installation, problem, type Subject } from './finding.ts'
import { checkGuest } from './guest.ts'
import { checkCgroups, checkKvm, checkNamespaces, checkNftables, checkTun } from './kernel.ts'
import { checkDebianMirror, checkNpmRegistry } from './registries.ts'
import { checkDisk, checkMemory, checkPorts, checkSync } from './resources.ts'
import { checkNode, checkPackages, checkSystem, checkUser } from './system.ts'

/** In the order of the report. The guest comes last: it takes longest and shows the effect of the others. */
const CHECKS: Readonly<Record<string, Check>> = {
  system: checkSystem,
  user: checkUser,
  node: checkNode,
  packages: checkPackages,
  kvm: checkKvm,
  cgroups: checkCgroups,
  nftables: checkNftables,
  namespaces: checkNamespaces,
  tun: checkTun,
  disk: checkDisk,
  fsync: checkSync,
  memory: checkMemory,
  ports: checkPorts,
  'npm-registry': checkNpmRegistry,
  'debian-mirror': checkDebianMirror,
  guest: checkGuest,
}

/**
 * Prints the findings.
 * @returns exit code: 0 if there is no problem, else 1
 */
export async function diagnose(
  args: UpArguments,
  installation: Installation | null,
  product: Product,
  stop: AbortSignal,
): Promise<number> {
  const tell = args.isJson ? undefined : (finding: Finding) => process.stdout.write(`${inLines(finding)}\n`)
  const findings = await findAll(args, installation, product, stop, tell)
  const problems = findings.filter(({ status }) => status === 'problem').length
  if (args.isJson) process.stdout.write(`${JSON.stringify({ ok: problems === 0, findings }, null, 2)}\n`)
  else process.stdout.write(`\n${verdict(problems)}\n`)
  return problems === 0 ? 0 : 1
}

/** @param tell gets each finding as soon as it is known */
export async function findAll(
  args: UpArguments,
  installation: Installation | null,
  product: Product,
  stop: AbortSignal,
  tell: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  const subject = await look(args, installation, product, stop)
  const findings: Finding[] = []
  for (const [name, check] of Object.entries(CHECKS)) {
    const found = await check(subject).catch((error: Error) => {
      stop.throwIfAborted()
      return problem(name, `the check failed: ${error.message}`, null)
    })
    const news = [found].flat()
    findings.push(...news)
    for (const finding of news) tell(finding)
  }
  return findings
}

async function look(
  args: UpArguments,
  installation: Installation | null,
  product: Product,
  stop: AbortSignal,
): Promise<Subject> {
  const layout = dataLayout(args.dataDir, args.imagesDir)
  const supervisor = (await readRunningRecord(layout.runningRecord))?.supervisor
  const images = ['vmlinuz', 'initramfs.cpio.gz', 'jail', 'templates'].map((name) => join(layout.imagesDir, name))
  return {
    args,
    layout,
    product,
    installation,
    isInstalled: installation !== null && (await areThere([installation.node])),
    hasImages: await areThere(images),
    isRunning: supervisor !== undefined && (await isAlive(supervisor)),
    isRoot: process.getuid?.() === 0,
    stop,
  }
}

async function areThere(paths: readonly string[]): Promise<boolean> {
  return !(await Promise.all(paths.map((path) => canAccess(path)))).includes(false)
}

const CHECK_WIDTH = 14
const STATUS_WIDTH = 8

function inLines({ check, status, finding, remedy }: Finding): string {
  const line = `${status.padEnd(STATUS_WIDTH)} ${check.padEnd(CHECK_WIDTH)} ${finding}.`
  return remedy === null ? line : `${line}\n${' '.repeat(STATUS_WIDTH + CHECK_WIDTH + 2)}${remedy}.`
}

function verdict(problems: number): string {
  if (problems === 0) return 'Offshoot can run here.'
  return `Offshoot cannot run here: ${problems === 1 ? 'there is 1 problem' : `there are ${problems} problems`}.`
}
