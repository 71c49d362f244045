import { setTimeout as wait } from 'node:timers/promises'
import { join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { readBakeManifest } from '../../store/bakes/bake-manifest.ts'
import { runCommand } from '../../machine/guest/command.ts'
import { type GuestIdentity, guestIdentity } from '../../machine/guest/guest-identity.ts'
import type { BootFrom } from './boot-vm.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { networkIdentity } from './slot-network.ts'

const MAX_OUTPUT_BYTES = 64 * 1024
const READY_POLL_MS = 100
/**
 * Milliseconds for the template's `ready_cmd` to succeed. It may never succeed in a guest whose owner has changed the
 * template's files.
 */
const READY_MS = 20_000

/**
 * Starts a sandbox from its disk, without memory: boots it and runs the template's start and ready commands, as its bake
 * did.
 * @param env variables beside the template's
 */
export async function bootFromDisk(
  host: Host,
  { id, manifest }: Sandbox,
  env: GuestIdentity['env'] = 'keep',
): Promise<Omit<BootFrom, 'known'>> {
  const bake = await readBakeManifest(bakeFiles(join(host.store.dir.bakes, manifest.bake)).manifest)
  if (bake.state !== 'present') throw new Error(`the record of the bake ${manifest.bake} is ${bake.state}`)
  const { image } = bake.record
  return {
    boot: host.platform.boot,
    checkpoint: { folder: null, bases: 0, layers: manifest.layers },
    greet: async (vm, deadline) => {
      const link = await vm.link(deadline)
      const variables = { ...image.env, ...(env === 'keep' ? {} : env) }
      const identity = guestIdentity(id, variables, networkIdentity(host.platform, manifest.slot))
      await link.refresh(identity, deadline).settled
      await runStartCommands(host, link, image, deadline)
    },
  }
}

async function runStartCommands(
  { log }: Host,
  link: GuestLink,
  { name, start_cmd, ready_cmd }: TemplateImage,
  deadline: Deadline,
) {
  if (start_cmd !== null && (await exitCodeOf(link, start_cmd, deadline)) !== 0)
    throw new Error(`start_cmd of ${name} failed`)
  if (ready_cmd === null) return
  const ready = deadline.within(READY_MS, 'ready_cmd of a template')
  while ((await exitCodeOf(link, ready_cmd, deadline)) !== 0) {
    if (ready.remainingMs <= READY_POLL_MS)
      return log.warn({ template: name }, 'sandbox booted, but ready_cmd of its template does not succeed')
    await wait(READY_POLL_MS)
  }
}

async function exitCodeOf(link: GuestLink, command: string, deadline: Deadline): Promise<number | null> {
  const options = { stdin: undefined, maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  const { exitCode } = await runCommand(link, { argv: ['/bin/sh', '-c', command] }, options)
  deadline.throwIfOver()
  return exitCode
}
