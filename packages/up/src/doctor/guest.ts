import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AcceleratorChoice, AgentConfigFile } from '@offshoot/contract/process-config'
import { z } from 'zod'
import { canAccess } from '../base/can-access.ts'
import { dataLayout, makeDataDir } from '../base/data-layout.ts'
import { HOST } from '../config/configuration.ts'
import { GuestNamespace } from '../rootless/guest-namespace.ts'
import { rootlessLacks } from '../rootless/requirements.ts'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'
import { lastLine, runQuietly } from './run-quietly.ts'

/** A guest boots and is restored four times. Emulation on a busy machine takes a minute. */
const TRIAL_MS = 300_000
const ABOVE = 'Do what the findings above say, and repeat this'
const WITHOUT_KVM =
  'Offshoot works without KVM. Whoever runs this machine can give it a newer virtual CPU or nested virtualization'
const NO_NETWORK = 'Do what the findings above say about nftables and /dev/net/tun, and repeat this'

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
  layout: { imagesDir },
  installation,
  isInstalled,
  hasImages,
  stop,
}: Subject): Promise<Finding | readonly Finding[]> {
  const prepare = 'Build them with --prepare, and repeat this'
  if (!hasImages) return warning('guest', `no guest was tried: there are no images in ${imagesDir} yet`, prepare)
  if (installation === null || !isInstalled)
    return warning('guest', 'no guest was tried: the release is not installed yet', prepare)
  if (!isRoot && (await rootlessLacks(stop)).length > 0)
    return warning('guest', 'no guest was tried: something that guests without root need is missing', ABOVE)
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-doctor-'))
  const layout = dataLayout(folder, imagesDir)
  let guests: GuestNamespace | null = null
  try {
    await makeDataDir(layout)
    guests = isRoot ? null : await GuestNamespace.open(layout, stop)
    const config: AgentConfigFile = {
      data_dir: layout.agent,
      images_dir: imagesDir,
      listen: { host: HOST, port: 1 },
      secret: randomBytes(32).toString('base64'),
      templates: (await hasMinimal(imagesDir)) ? ['minimal'] : args.templates && [...args.templates],
      network: args.network,
      ...(guests !== null && { run_dir: join(layout.agent, 'run') }),
      accelerator: args.accelerator === 'tcg' ? 'tcg' : 'auto',
      kvm: args.kvm,
    }
    await writeFile(layout.agentConfig, JSON.stringify(config), { mode: 0o600 })
    const entry = join(installation.root, 'packages/agent/src/try-guest.ts')
    const [file, ...rest] = [...((await guests?.entering()) ?? []), installation.node, entry, layout.agentConfig]
    const output = await runQuietly([file, ...rest], stop, { withinMs: TRIAL_MS })
    if (output instanceof Error) return problem('guest', `no guest can run: ${lastLine(output)}`, null)
    const result = trial.parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? ''))
    return [...judgeKvm(result, args.accelerator), judge(result)]
  } finally {
    // Files of VMs belong to other ids of the user.
    await guests?.takeFiles().catch(() => undefined)
    await guests?.endIfUnused()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Nothing where KVM was not asked for, or its device is missing, which `checkKvm` tells. */
function judgeKvm({ accelerator, reason }: Trial, wanted: AcceleratorChoice): readonly Finding[] {
  if (accelerator === 'kvm') return [ok('kvm-guest', 'a guest lived a whole life under KVM')]
  if (wanted === 'tcg' || reason === null || reason.startsWith('there is no /dev/kvm')) return []
  const refuse = wanted === 'kvm' ? problem : warning
  return [refuse('kvm-guest', `VMs run under software emulation, 10 to 20 times slower: ${reason}`, WITHOUT_KVM)]
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
  return warning('guest', `${finding}, but without network: ${found.network_reason}`, NO_NETWORK)
}

async function hasMinimal(imagesDir: string): Promise<boolean> {
  return canAccess(join(imagesDir, 'templates/minimal/template.json'))
}
