import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'
import { labelBefore, nameOfHost } from '@offshoot/contract/preview-address'

/** Called with sandboxes that no longer serve their app, because another version does. */
type Replaced = (sandboxIds: readonly SandboxId[]) => void

/**
 * Which sandboxes serve each app, as control last reported. Held in memory only: a restarted edge gets it from control
 * again.
 */
export class AppLocations {
  readonly #apps = new Map<string, EdgeApp>()
  readonly #byHost = new Map<string, EdgeApp>()
  readonly #byDomain = new Map<string, EdgeApp>()
  onReplaced: Replaced = () => undefined

  /** @param label the part of the host before the suffix, in lower case */
  find(label: string): EdgeApp | undefined {
    return this.#apps.get(label) ?? this.#byHost.get(label)
  }

  /** @param name in lower case */
  findDomain(name: string): EdgeApp | undefined {
    return this.#byDomain.get(name)
  }

  /** Finds an app by its id, its name or one of its domains. @param host as the visitor wrote it */
  findHost(host: string, suffix: string): EdgeApp | undefined {
    return this.find(labelBefore(host, suffix) ?? '') ?? this.findDomain(nameOfHost(host))
  }

  /** Fingerprint of a domain's certificate. @param name in lower case */
  certificateOf(name: string): string | undefined {
    return this.#byDomain.get(name)?.certificates[name]
  }

  /** Replaces all apps regardless of `as_of`, because control's database may be another one. */
  replace(apps: readonly EdgeApp[]): void {
    const ids = new Set(apps.map(({ id }) => id))
    for (const id of this.#apps.keys()) if (!ids.has(id)) this.remove(id)
    for (const app of apps) this.#put(app, this.#apps.get(app.id))
  }

  /** Ignores a state older than the known one. The stream and single queries can deliver states out of order. */
  set(app: EdgeApp): void {
    const before = this.#apps.get(app.id)
    if (before === undefined || before.as_of <= app.as_of) this.#put(app, before)
  }

  remove(id: string): void {
    const before = this.#apps.get(id)
    if (before === undefined) return
    this.#apps.delete(id)
    this.#forgetNames(before)
    this.#tell(before, [])
  }

  #put(app: EdgeApp, before: EdgeApp | undefined): void {
    if (before !== undefined) this.#forgetNames(before)
    this.#apps.set(app.id, app)
    if (app.host !== null) this.#byHost.set(app.host, app)
    for (const domain of app.domains) this.#byDomain.set(domain, app)
    this.#tell(before, app.sandbox_ids)
  }

  /** Another app may have got a domain before this app's loss of it is reported. */
  #forgetNames({ id, host, domains }: EdgeApp): void {
    if (host !== null) this.#byHost.delete(host)
    for (const domain of domains) if (this.#byDomain.get(domain)?.id === id) this.#byDomain.delete(domain)
  }

  #tell(before: EdgeApp | undefined, serving: readonly string[]): void {
    const gone = (before?.sandbox_ids ?? []).filter((id) => !serving.includes(id))
    if (gone.length > 0) this.onReplaced(gone as SandboxId[])
  }
}
