/**
 * Preview hosts `<port>-<sandbox id>.<suffix>` lead to that port of that sandbox. App hosts lead to the app's serving
 * version: `<app id>.<suffix>`, the host of its name, and its domains.
 *
 * For each request: parse the host, find the sandbox, admit the visitor if it is private, check its limits, forward. Every refusal happens before anything
 * is sent to the sandbox.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { CODE_PORT } from '@offshoot/contract/code'
import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { PreviewCheck } from '@offshoot/contract/preview-access'
import { parsePreviewHost, type PreviewHost } from '@offshoot/contract/preview-address'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { Logger } from 'pino'
import type { OpenVisits } from '../access/open-visits.ts'
import type { PrivateAccess } from '../access/private-access.ts'
import { type GuestPort, openPort } from '../agents/open-port.ts'
import { openReleased } from '../agents/open-released.ts'
import { PortRefused } from '../agents/open-upgrade.ts'
import type { SandboxLocation, SandboxLocations } from '../agents/sandbox-locations.ts'
import type { AppLoad, UnderWay } from '../apps/app-load.ts'
import type { AppLocations } from '../apps/app-locations.ts'
import { stickyHeaders, stickyToken } from '../apps/sticky.ts'
import type { SandboxLimits } from '../limits/sandbox-limits.ts'
import { forward } from './forward.ts'
import { forwardUpgrade, type UpgradeForwarded } from './forward-upgrade.ts'
import type { GuestPools } from './guest-pools.ts'
import { type Goodbye, NO_LONGER_ADMITTED, REPLACED } from './join-sockets.ts'
import { withoutOwnToken } from './own-credentials.ts'
import { Refusal, refusalOf, refusalOfApp, refusals, sendRefusal } from '../http/refusal.ts'
import { requestHeaders } from './request-headers.ts'
import { breakOff, hostOf, originOf, targetOf, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'

/** Milliseconds to find an unknown sandbox. */
const FIND_MS = 2_000

export interface PreviewOptions {
  readonly suffix: string
  readonly locations: SandboxLocations
  readonly apps: AppLocations
  readonly access: PrivateAccess
  /** `null` if the edge has no control, and so admits nobody to a private preview. */
  readonly visits: OpenVisits | null
  readonly load: AppLoad
  readonly pools: GuestPools
  readonly limits: SandboxLimits
  readonly wakeMs: number
  readonly trustsForwarded: boolean
  readonly log: Logger
}

interface Found extends PreviewHost {
  /** `null` for a request to the sandbox's own address. */
  readonly app: EdgeApp | null
}

/** A private app that has no version to serve. Only admitted visitors learn that. */
interface Idle {
  readonly app: EdgeApp
  readonly refusal: Refusal
}

interface Visit {
  readonly request: VisitorRequest
  readonly response: VisitorResponse
  readonly expectsContinue: boolean
  /** As the visitor wrote it. */
  readonly host: string
  /** Path and query, as the visitor sent them. */
  readonly givenTarget: string
  /** The same without Offshoot's tokens. */
  readonly target: string
}

interface UpgradedTo {
  readonly sandboxId: SandboxId
  readonly end: (why: Goodbye) => void
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
    const givenTarget = targetOf(request, host)
    if (givenTarget === null) {
      sendRefusal(request, response, refusals.badRequest('the request names two hosts'))
      return true
    }
    const target = withoutOwnToken(givenTarget)
    const visit = { request, response, expectsContinue, host, givenTarget, target }
    const served = 'refusal' in found ? this.#refuseIdle(found, visit) : this.#serve(found, visit)
    served.catch((error: unknown) => this.#refuse(found, request, response, error))
    return true
  }

  /** Closes upgraded connections, which would otherwise stay open forever. */
  endUpgraded(): void {
    for (const socket of this.#upgraded.keys()) socket.destroy()
  }

  /** `null` if the host is neither a preview nor an app host. */
  #lookUp(host: string, request: VisitorRequest): Found | Idle | Refusal | null {
    const { suffix, apps, load } = this.#options
    const preview = parsePreviewHost(host, suffix)
    if (preview?.port === CODE_PORT) return refusals.portNotPublic()
    if (preview !== null) return { ...preview, app: null }
    const app = apps.findHost(host, suffix)
    if (app === undefined) return null
    const sandboxId = load.pick(app, stickyToken(app, request))
    if (sandboxId !== undefined) return { sandboxId, port: app.port, app }
    const refusal = app.state === 'building' ? refusals.firstBuild() : refusals.noCodeDeployed()
    return app.visibility === 'private' ? { app, refusal } : refusal
  }

  /** After a switch to another version, upgraded connections to the old one are closed. Running requests finish. */
  #endReplaced(sandboxIds: ReadonlySet<SandboxId>): void {
    this.#options.pools.letGo(sandboxIds)
    for (const { sandboxId, end } of this.#upgraded.values()) if (sandboxIds.has(sandboxId)) end(REPLACED)
  }

  async #serve(found: Found, visit: Visit): Promise<void> {
    const { locations, pools, trustsForwarded } = this.#options
    const { sandboxId, port, app } = found
    const { request, response, expectsContinue, host, target } = visit
    const location = locations.known(sandboxId) ?? (await this.#find(found, request))
    const isPrivate = location.visibility === 'private' || app?.visibility === 'private'
    const admission = isPrivate ? await this.#admit(found, visit) : null
    if (isPrivate && admission === null) return
    const underWay = this.#begin(found)
    try {
      const guest = { agent: location.agent, sandboxId, port, isAdmitted: isPrivate }
      const headers = requestHeaders(request, host, trustsForwarded)
      const upgrade = upgradeOf(request as IncomingMessage)
      if (upgrade !== undefined) {
        // Only HTTP/1.1 has upgrades.
        const forwarded = { request: request as IncomingMessage, response, upgrade, headers, target }
        await this.#upgrade(guest, app, admission, forwarded, underWay)
        return
      }
      await this.#wake(location, guest)
      if (admission !== null) this.#watch(admission, visit)
      const added = stickyHeaders(app, sandboxId, request)
      forward(pools.take(guest), { request, response, headers, target, port, expectsContinue, added }, underWay.end)
    } catch (error) {
      underWay.end()
      throw error
    }
  }

  /** @returns the credential that admits the visitor; `null` if the visitor was answered. @throws Refusal 401, 503 */
  #admit(found: Found | Idle, { request, response, host, givenTarget, target }: Visit): Promise<PreviewCheck | null> {
    const { access, trustsForwarded } = this.#options
    const subject =
      'refusal' in found || found.app !== null
        ? { app_id: (found.app as EdgeApp).id }
        : { sandbox_id: found.sandboxId, port: found.port }
    const origin = originOf(request, host, trustsForwarded)
    return access.admit({ request, response, origin, subject, givenTarget, target })
  }

  async #refuseIdle(idle: Idle, visit: Visit): Promise<void> {
    if ((await this.#admit(idle, visit)) !== null) sendRefusal(visit.request, visit.response, idle.refusal)
  }

  /** Ends the answer when the visitor is admitted no longer. */
  #watch(admission: PreviewCheck, { request, response }: Visit): void {
    const leave = this.#options.visits?.add(admission, () => breakOff(request, response)) ?? (() => undefined)
    response.once('close', leave)
    if (response.destroyed) leave()
  }

  async #find({ sandboxId }: Found, { socket }: VisitorRequest): Promise<SandboxLocation> {
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
  #begin({ sandboxId, app }: Found): UnderWay {
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
    admission: PreviewCheck | null,
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
    const leave = admission && this.#options.visits?.add(admission, () => joined.end(NO_LONGER_ADMITTED))
    const forget = () => {
      this.#upgraded.delete(visitor)
      leave?.()
      end()
    }
    visitor.once('close', forget)
    if (visitor.destroyed) forget()
    // Another version took over while the upgrade was in progress.
    else if (app !== null && this.#options.apps.find(app.id)?.sandbox_ids.includes(guest.sandboxId) !== true)
      joined.end(REPLACED)
  }

  #open(guest: GuestPort): Promise<Socket> {
    const deadline = Deadline.after(this.#options.wakeMs, `port ${guest.port} of ${guest.sandboxId}`)
    return openReleased(this.#options.locations, guest, (agent) => openPort({ ...guest, agent }, deadline))
  }

  #refuse(found: Found | Idle, request: VisitorRequest, response: VisitorResponse, error: unknown): void {
    const { locations, log } = this.#options
    const { sandboxId, port } = 'refusal' in found ? { sandboxId: null, port: found.app.port } : found
    if (error instanceof PortRefused && sandboxId !== null) {
      // The sandbox was deleted, or became private, and the event has not arrived yet.
      if (error.status === 404) locations.forget(sandboxId)
      if (error.status === 403) locations.markPrivate(sandboxId)
    }
    const refusal = found.app !== null ? refusalOfApp(error, port) : refusalOf(error, port)
    if (refusal.status >= 500) log.debug({ err: error, sandbox_id: sandboxId, port }, 'preview refused')
    sendRefusal(request, response, refusal)
  }
}
