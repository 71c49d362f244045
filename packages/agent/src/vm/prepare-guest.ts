import { setTimeout as wait } from 'node:timers/promises'
import type { TemplateImage } from '@offshoot/contract/template-image'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from './command.ts'
import { GUEST_GATEWAY, GUEST_IP } from './machine.ts'

const READY_POLL_MS = 100
const MAX_OUTPUT_BYTES = 64 * 1024

/** A template's own command failed at its bake. */
export class TemplateCommandFailed extends Error {
  override readonly name = 'TemplateCommandFailed'
}

/** Brings a freshly booted guest into the state that every sandbox of its template starts from. Gives its address. */
export async function prepareGuest(link: GuestLink, image: TemplateImage, deadline: Deadline): Promise<string | null> {
  const network = await runShell(link, configureNetwork, deadline)
  if (image.start_cmd !== null) {
    const { exitCode, output } = await runShell(link, image.start_cmd, deadline)
    if (exitCode !== 0) throw new TemplateCommandFailed(`start_cmd of ${image.name} exited with ${exitCode}: ${output}`)
  }
  if (image.ready_cmd !== null) await waitUntilReady(link, image.name, image.ready_cmd, deadline)
  return network.exitCode === 0 ? GUEST_IP : null
}

/**
 * Both iproute2 and busybox know these words. No IPv6: nobody would route it, and a guest frozen in the middle of
 * looking for neighbours would go on with that in every sandbox.
 */
const configureNetwork = [
  'echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6',
  `ip address add ${GUEST_IP}/24 dev eth0`,
  'ip link set eth0 up',
  `ip route add default via ${GUEST_GATEWAY}`,
].join(' && ')

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
