import { setTimeout as wait } from 'node:timers/promises'
import type { TemplateImage } from '@offshoot/contract/template-image'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../guest/command.ts'
import { guestIdentity, PLACEHOLDER_ID, PLACEHOLDER_NETWORK } from '../guest/guest-identity.ts'
import { GUEST_IP } from '../vm/machine.ts'

const READY_POLL_MS = 100
const MAX_OUTPUT_BYTES = 64 * 1024

/** The start_cmd or ready_cmd of a template failed during its bake. */
export class TemplateCommandFailed extends Error {
  override readonly name = 'TemplateCommandFailed'
}

/** Brings a freshly booted guest into the state from which every sandbox of its template starts. @returns its address */
export type PrepareGuest = (link: GuestLink, image: TemplateImage, deadline: Deadline) => Promise<string | null>

/** For the templates of this repository: their `start_cmd` exits. */
export const prepareGuest: PrepareGuest = async (link, image, deadline) => {
  await setAddress(link, deadline)
  if (image.start_cmd !== null) {
    const { exitCode, output } = await runShell(link, image.start_cmd, deadline)
    if (exitCode !== 0) throw new TemplateCommandFailed(`start_cmd of ${image.name} exited with ${exitCode}: ${output}`)
  }
  if (image.ready_cmd !== null) await waitUntilReady(link, image.name, image.ready_cmd, deadline)
  return GUEST_IP
}

/** Sets a placeholder address with the agent's guest program, as an image may have no `ip`. Each sandbox gets its own later. */
export async function setAddress(link: GuestLink, deadline: Deadline): Promise<void> {
  await link.refresh(guestIdentity(PLACEHOLDER_ID, {}, PLACEHOLDER_NETWORK), deadline).settled
}

async function waitUntilReady(link: GuestLink, name: string, command: string, deadline: Deadline): Promise<void> {
  for (;;) {
    const { exitCode, output } = await runShell(link, command, deadline)
    if (exitCode === 0) return
    if (deadline.remainingMs <= READY_POLL_MS) {
      throw new TemplateCommandFailed(`ready_cmd of ${name} still exits with ${exitCode}: ${output}`)
    }
    await wait(READY_POLL_MS)
  }
}

async function runShell(link: GuestLink, command: string, deadline: Deadline) {
  const request = { argv: ['/bin/sh', '-c', command] }
  const options = { stdin: undefined, maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  const { exitCode, stdout, stderr } = await runCommand(link, request, options)
  deadline.throwIfOver()
  return { exitCode, output: Buffer.concat([stdout.bytes, stderr.bytes]).toString('utf8').trim() }
}
