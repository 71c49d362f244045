/**
 * Preview hosts `<port>-<sandbox id>.<suffix>` lead to that port of that sandbox. App hosts lead to the app's serving
 * version: `<app id>.<suffix>`, the host of its name, and its domains.
 *
 * For each request: parse the host, find the sandbox, check its limits, forward. Every refusal happens before anything
 * is sent to the sandbox.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { CODE_PORT } from '@offshoot/contract/code'
import type { EdgeApp } from '@offshoot/contract/edge-app'
import { parsePreviewHost, type PreviewHost } from '@offshoot/contract/preview-address'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { Logger } from 'pino'
import { openPort, PortRefused } from '../agents/open-port.ts'
import type { SandboxLocation, SandboxLocations } from '../agents/sandbox-locations.ts'
import type { AppLoad, UnderWay } from '../apps/app-load.ts'
import type { AppLocations } from '../apps/app-locations.ts'
import { stickyHeaders, stickyToken } from '../apps/sticky.ts'
import type { SandboxLimits } from '../limits/sandbox-limits.ts'
import { forward } from './forward.ts'
import { forwardUpgrade, type UpgradeForwarded } from './forward-upgrade.ts'
import type { GuestPools, GuestPort } from './guest-pools.ts'
import { withoutOwnToken } from './own-credentials.ts'
import { Refusal, refusalOf, refusalOfApp, refusals, sendRefusal } from '../http/refusal.ts'
import { requestHeaders } from './request-headers.ts'
import { hostOf, targetOf, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'

/** Milliseconds to find an unknown sandbox. */
const FIND_MS = 2_000

export interface PreviewOptions {
  readonly suffix: string
  readonly locations: SandboxLocations
  readonly apps: AppLocations
  readonly load: AppLoad
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
  /** `null` for a request to the sandbox's own address. */
  readonly app: EdgeApp | null
}

interface UpgradedTo {
  readonly sandboxId: SandboxId
  readonly end: () => void
}

export class Preview {
  readonly #options: PreviewOptions
  readonly #upgraded = new Map<Socket, UpgradedTo>()

  constructor(options: PreviewOptions) {
    this.#options = options
    options.apps.onReplaced = (ids) => this.#endReplaced(new Set(ids))
  }

  /** Handles a request for a preview or app host. Returns false for other hosts. */
  handle(request: VisitorRequest, response: VisitorResponse, expectsContinue = false): boolean {
    const host = hostOf(request)
    const found = host === null ? null : this.#lookUp(host, request)
    if (host === null || found === null) return false
    if (found instanceof Refusal) {
      sendRefusal(request, response, found)
      return true
    }
    const target = targetOf(request, host)
    if (target === null) {
      sendRefusal(request, response, refusals.badRequest('the request names two hosts'))
      return true
    }
    const wanted = { ...found, host, target: withoutOwnToken(target) }
    this.#serve(wanted, request, response, expectsContinue).catch((error: unknown) =>
      this.#refuse(wanted, request, response, error),
    )
    return true
  }

  /** Closes upgraded connections, which would otherwise stay open forever. */
  endUpgraded(): void {
    for (const socket of this.#upgraded.keys()) socket.destroy()
  }

  /** `null` if the host is neither a preview nor an app host. */
  #lookUp(host: string, request: VisitorRequest): (PreviewHost & Pick<Wanted, 'app'>) | Refusal | null {
    const { suffix, apps, load } = this.#options
    const preview = parsePreviewHost(host, suffix)
    if (preview?.port === CODE_PORT) return refusals.portNotPublic()
    if (preview !== null) return { ...preview, app: null }
    const app = apps.findHost(host, suffix)
    if (app === undefined) return null
    const sandboxId = load.pick(app, stickyToken(app, request))
    if (sandboxId !== undefined) return { sandboxId, port: app.port, app }
    return app.state === 'building' ? refusals.firstBuild() : refusals.noCodeDeployed()
  }

  /** After a switch to another version, upgraded connections to the old one are closed. Running requests finish. */
  #endReplaced(sandboxIds: ReadonlySet<SandboxId>): void {
    this.#options.pools.letGo(sandboxIds)
    for (const { sandboxId, end } of this.#upgraded.values()) if (sandboxIds.has(sandboxId)) end()
  }

  async #serve(
    wanted: Wanted,
    request: VisitorRequest,
    response: VisitorResponse,
    expectsContinue: boolean,
  ): Promise<void> {
    const { locations, pools, trustsForwarded } = this.#options
    const { sandboxId, port, target, app } = wanted
    const location = locations.known(sandboxId) ?? (await this.#find(wanted, request))
    const underWay = this.#begin(wanted)
    try {
      const guest = { agent: location.agent, sandboxId, port }
      const headers = requestHeaders(request, wanted.host, trustsForwarded)
      const upgrade = upgradeOf(request as IncomingMessage)
      if (upgrade !== undefined) {
        // Only HTTP/1.1 has upgrades.
        await this.#upgrade(
          guest,
          app,
          { request: request as IncomingMessage, response, upgrade, headers, target },
          underWay,
        )
        return
      }
      await this.#wake(location, guest)
      const added = stickyHeaders(app, sandboxId, request)
      forward(pools.take(guest), { request, response, headers, target, port, expectsContinue, added }, underWay.end)
    } catch (error) {
      underWay.end()
      throw error
    }
  }

  async #find({ sandboxId }: Wanted, { socket }: VisitorRequest): Promise<SandboxLocation> {
    const visitor = socket.remoteAddress ?? ''
    const location = await this.#options.locations.find(sandboxId, visitor, AbortSignal.timeout(FIND_MS))
    if (location === null) throw refusals.unknownSandbox()
    return location
  }

  /** A kept connection into a paused VM would never answer. Opening a new one makes the agent decide. */
  async #wake({ status }: SandboxLocation, guest: GuestPort): Promise<void> {
    if (status === 'running' || status === 'hibernated') return
    const socket = await this.#open(guest)
    socket.destroy()
  }

  /** @throws Refusal 429 */
  #begin({ sandboxId, app }: Wanted): UnderWay {
    const { limits, load } = this.#options
    const endOfLimit = limits.begin(sandboxId)
    if (app === null) return { upgraded: () => undefined, end: endOfLimit }
    const ofApp = load.begin(app, sandboxId)
    const end = () => {
      endOfLimit()
      ofApp.end()
    }
    return { upgraded: ofApp.upgraded, end }
  }

  async #upgrade(
    guest: GuestPort,
    app: EdgeApp | null,
    forwarded: UpgradeForwarded,
    { upgraded, end }: UnderWay,
  ): Promise<void> {
    const joined = await forwardUpgrade(await this.#open(guest), forwarded)
    if (joined === null) {
      forwarded.response.once('close', end)
      if (forwarded.response.destroyed) end()
      return
    }
    upgraded()
    const { visitor } = joined
    this.#upgraded.set(visitor, { sandboxId: guest.sandboxId, end: joined.end })
    const forget = () => {
      this.#upgraded.delete(visitor)
      end()
    }
    visitor.once('close', forget)
    if (visitor.destroyed) forget()
    // Another version took over while the upgrade was in progress.
    else if (app !== null && this.#options.apps.find(app.id)?.sandbox_ids.includes(guest.sandboxId) !== true)
      joined.end()
  }

  #open({ agent, sandboxId, port }: GuestPort): Promise<Socket> {
    const deadline = Deadline.after(this.#options.wakeMs, `port ${port} of ${sandboxId}`)
    return openPort(agent, sandboxId, port, deadline)
  }

  #refuse({ sandboxId, port, app }: Wanted, request: VisitorRequest, response: VisitorResponse, error: unknown): void {
    // The sandbox was deleted, and the event has not arrived yet.
    if (error instanceof PortRefused && error.status === 404) this.#options.locations.forget(sandboxId)
    const refusal = app !== null ? refusalOfApp(error, port) : refusalOf(error, port)
    if (refusal.status >= 500) this.#options.log.debug({ err: error, sandbox_id: sandboxId, port }, 'preview refused')
    sendRefusal(request, response, refusal)
  }
}
