import type { Host } from '../model/host.ts'
import { rebootSandbox } from './reboot-sandbox.ts'

const LOOK_MS = 500

/** Boots durable sandboxes again when the host has a lease again, and logs when it ends. */
export class LeaseWatch {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  #wasHeld: boolean

  constructor(host: Host) {
    this.#host = host
    // The start of the agent has booted them if no lease is needed.
    this.#wasHeld = !host.store.lease.isRequired
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const { log, store } = this.#host
    const { isHeld, isRequired } = store.lease
    if (isHeld === this.#wasHeld) return
    this.#wasHeld = isHeld
    if (!isHeld) {
      log.error({ stopped: stoppedVms(this.#host) }, 'the lease of the host has ended: its databases are stopped')
      return
    }
    if (isRequired) log.info('the host has a lease: its databases run')
    bootColdSandboxes(this.#host)
  }
}

/** Durable VMs of sandboxes, which are stopped when there is no lease. */
export function stoppedVms({ sandboxes }: Host): number {
  return durableVms(sandboxes).length
}

/** Whether the launcher of each durable VM stops it at the end of the lease. An earlier agent may have started it. */
export function allObeyLease({ sandboxes }: Host): boolean {
  return durableVms(sandboxes).every(({ vm }) => vm?.obeysLease === true)
}

/** Boots the sandboxes that have a disk and no memory, unless they move. */
export function bootColdSandboxes(host: Host): void {
  for (const sandbox of host.sandboxes.values()) {
    const { cold, status, move } = sandbox.manifest
    if (cold && status === 'hibernated' && move === undefined) rebootSandbox(host, sandbox)
  }
}

function durableVms(sandboxes: Host['sandboxes']) {
  return [...sandboxes.values()].filter(({ manifest, vm }) => manifest.durable && vm !== null)
}
