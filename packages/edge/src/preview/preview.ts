/**
 * Preview hosts: `<port>-<sandbox id>.<suffix>` is the server on that port of that sandbox.
 *
 * In this order: which sandbox is meant, whether it is there, whether it may have one more request, then the request itself.
 * Whatever is refused is refused before anything is sent inside.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { parsePreviewHost, type PreviewHost } from '@offshoot/contract/preview-address'
import { Deadline } from '@offshoot/kit/deadline'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { Logger } from 'pino'
import { openPort, PortRefused } from '../agents/open-port.ts'
import type { Place, Places } from '../agents/places.ts'
import type { SandboxLimits } from '../limits/sandbox-limits.ts'
import { forward } from './forward.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import type { GuestPools, GuestPort } from './guest-pools.ts'
import { withoutOwnToken } from './own-credentials.ts'
import { refusalOf, refusals, sendRefusal } from './refusal.ts'
import { requestHeaders } from './request-headers.ts'
import { hostOf, targetOf, type VisitorRequest, type VisitorResponse } from './visitor.ts'

/** Milliseconds for the question where an unknown sandbox is. */
const FIND_MS = 2_000

export interface PreviewOptions {
  readonly suffix: string
  readonly places: Places
  readonly pools: GuestPools
  readonly limits: SandboxLimits
  readonly wakeMs: number
  readonly trustsForwarded: boolean
  readonly log: Logger
}

interface Wanted extends PreviewHost {
  /** As the visitor wrote it. */
  readonly host: string
  readonly target: string
}

export class Preview {
  readonly #options: PreviewOptions
  readonly #upgraded = new Set<Socket>()

  constructor(options: PreviewOptions) {
    this.#options = options
  }

  /** Answers whatever comes for a preview host; says whether this was for one. */
  handle(request: VisitorRequest, response: VisitorResponse, expectsContinue = false): boolean {
    const host = hostOf(request)
    const preview = host === null ? null : parsePreviewHost(host, this.#options.suffix)
    if (host === null || preview === null) return false
    const target = targetOf(request, host)
    if (target === null) {
      sendRefusal(request, response, refusals.badRequest('the request names two hosts'))
      return true
    }
    const wanted = { ...preview, host, target: withoutOwnToken(target) }
    this.#serve(wanted, request, response, expectsContinue).catch((error: unknown) =>
      this.#refuse(wanted, request, response, error),
    )
    return true
  }

  /** Ends what was upgraded: such connections have no end of their own. */
  endUpgraded(): void {
    for (const socket of this.#upgraded) socket.destroy()
  }

  async #serve(
    wanted: Wanted,
    request: VisitorRequest,
    response: VisitorResponse,
    expectsContinue: boolean,
  ): Promise<void> {
    const { places, limits, pools, trustsForwarded } = this.#options
    const { sandboxId, port, target } = wanted
    const place = places.known(sandboxId) ?? (await this.#find(wanted))
    const end = limits.begin(sandboxId)
    try {
      const guest = { agent: place.agent, sandboxId, port }
      const headers = requestHeaders(request, wanted.host, trustsForwarded)
      const upgrade = upgradeOf(request as IncomingMessage)
      if (upgrade !== undefined) {
        // Only HTTP/1.1 knows it.
        await this.#upgrade(guest, { request: request as IncomingMessage, response, upgrade, headers, target }, end)
        return
      }
      await this.#wake(place, guest)
      forward(pools.take(guest), { request, response, headers, target, port, expectsContinue }, end)
    } catch (error) {
      end()
      throw error
    }
  }

  async #find({ sandboxId }: Wanted): Promise<Place> {
    const place = await this.#options.places.find(sandboxId, AbortSignal.timeout(FIND_MS))
    if (place === null) throw refusals.unknownSandbox()
    return place
  }

  /** A kept connection into a machine that stands still would never be answered: its agent is asked before. */
  async #wake({ status }: Place, guest: GuestPort): Promise<void> {
    if (status === 'running' || status === 'hibernated') return
    const socket = await this.#open(guest)
    socket.destroy()
  }

  async #upgrade(guest: GuestPort, forwarded: Parameters<typeof forwardUpgrade>[1], end: () => void): Promise<void> {
    const visitor = await forwardUpgrade(await this.#open(guest), forwarded)
    if (visitor === null) {
      forwarded.response.once('close', end)
      if (forwarded.response.destroyed) end()
      return
    }
    this.#upgraded.add(visitor)
    const forget = () => {
      this.#upgraded.delete(visitor)
      end()
    }
    visitor.once('close', forget)
    if (visitor.destroyed) forget()
  }

  #open({ agent, sandboxId, port }: GuestPort): Promise<Socket> {
    const deadline = Deadline.after(this.#options.wakeMs, `port ${port} of ${sandboxId}`)
    return openPort(agent, sandboxId, port, deadline)
  }

  #refuse({ sandboxId, port }: Wanted, request: VisitorRequest, response: VisitorResponse, error: unknown): void {
    // Deleted, and the news of it is still on its way.
    if (error instanceof PortRefused && error.status === 404) this.#options.places.forget(sandboxId)
    const refusal = refusalOf(error, port)
    if (refusal.status >= 500) this.#options.log.debug({ err: error, sandbox_id: sandboxId, port }, 'preview refused')
    sendRefusal(request, response, refusal)
  }
}
