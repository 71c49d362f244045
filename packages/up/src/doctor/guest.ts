import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AcceleratorChoice, AgentConfigFile } from '@offshoot/contract/process-config'
import { z } from 'zod'
import { canAccess } from '../base/can-access.ts'
import { HOST } from '../config/configuration.ts'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'
import { lastLine, runQuietly } from './run-quietly.ts'

/** A guest boots and is restored four times. Emulation on a busy machine takes a minute. */
const TRIAL_MS = 300_000

/** The last line of the agent's `try-guest.ts`. */
const trial = z.object({
  accelerator: z.enum(['kvm', 'tcg']),
  /** Why not KVM; `null` under KVM. */
  reason: z.string().nullable(),
  /** The failing step and why; `null`: the whole life works. */
  failure: z.object({ step: z.string(), reason: z.string() }).nullable(),
  isolation: z.string(),
  /** Why guests have no network; `null`: they have one. */
  network_reason: z.string().nullable(),
  cpu_limits: z.string(),
  seconds: z.number(),
})
type Trial = z.infer<typeof trial>

/**
 * The whole life of a guest, under KVM if possible: boot, bake, restore, fork, hibernate, wake. It has a data directory of
 * its own, which is removed.
 */
export async function checkGuest({
  isRoot,
  args,
  layout,
  installation,
  isInstalled,
  hasImages,
  stop,
}: Subject): Promise<Finding | readonly Finding[]> {
  if (!isRoot) return warning('guest', 'no guest was tried: only root can try one', 'Repeat this as root')
  const prepare = 'Build them with --prepare, and repeat this'
  if (!hasImages) return warning('guest', `no guest was tried: there are no images in ${layout.imagesDir} yet`, prepare)
  if (installation === null || !isInstalled)
    return warning('guest', 'no guest was tried: the release is not installed yet', prepare)
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-doctor-'))
  try {
    await chmod(folder, 0o711)
    const config: AgentConfigFile = {
      data_dir: join(folder, 'agent'),
      images_dir: layout.imagesDir,
      listen: { host: HOST, port: 1 },
      secret: randomBytes(32).toString('base64'),
      templates: (await hasMinimal(layout.imagesDir)) ? ['minimal'] : args.templates && [...args.templates],
      network: args.network,
      accelerator: args.accelerator === 'tcg' ? 'tcg' : 'auto',
      kvm: args.kvm,
    }
    const path = join(folder, 'agent.json')
    await writeFile(path, JSON.stringify(config), { mode: 0o600 })
    const entry = join(installation.root, 'packages/agent/src/try-guest.ts')
    const output = await runQuietly([installation.node, entry, path], stop, { withinMs: TRIAL_MS })
    if (output instanceof Error) return problem('guest', `no guest can run: ${lastLine(output)}`, null)
    const result = trial.parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? ''))
    return [...judgeKvm(result, args.accelerator), judge(result)]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Nothing where KVM was not asked for, or its device is missing, which `checkKvm` tells. */
function judgeKvm({ accelerator, reason }: Trial, wanted: AcceleratorChoice): readonly Finding[] {
  if (accelerator === 'kvm') return [ok('kvm-guest', 'a guest lived a whole life under KVM')]
  if (wanted === 'tcg' || reason === null || reason.startsWith('there is no /dev/kvm')) return []
  const refuse = wanted === 'kvm' ? problem : warning
  return [refuse('kvm-guest', `VMs run under software emulation, 10 to 20 times slower: ${reason}`, 'See docs/kvm.md')]
}

function judge({ accelerator, failure, isolation, ...found }: Trial): Finding {
  if (failure !== null)
    return problem(
      'guest',
      `a guest failed at the step "${failure.step}" under ${accelerator}: ${failure.reason}`,
      null,
    )
  const finding =
    `boot, bake, restore, fork, hibernate and wake work under ${accelerator} ` +
    `(isolation ${isolation}, CPU limits ${found.cpu_limits}, ${found.seconds.toFixed(1)} s)`
  if (found.network_reason === null) return ok('guest', finding)
  return warning('guest', `${finding}, but without network: ${found.network_reason}`, 'See docs/network.md')
}

async function hasMinimal(imagesDir: string): Promise<boolean> {
  return canAccess(join(imagesDir, 'templates/minimal/template.json'))
}
