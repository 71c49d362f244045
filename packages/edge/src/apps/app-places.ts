import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'

/** Told of sandboxes that no longer serve their app, because another version does. */
type Replaced = (sandboxIds: readonly SandboxId[]) => void

/** Where each app is served, as control last told. Nothing here outlives the process: control tells it anew. */
export class AppPlaces {
  readonly #apps = new Map<string, EdgeApp>()
  readonly #byHost = new Map<string, EdgeApp>()
  onReplaced: Replaced = () => undefined

  /** @param label what stands before the suffix, in lower case */
  find(label: string): EdgeApp | undefined {
    return this.#apps.get(label) ?? this.#byHost.get(label)
  }

  replace(apps: readonly EdgeApp[]): void {
    const ids = new Set(apps.map(({ id }) => id))
    for (const id of this.#apps.keys()) if (!ids.has(id)) this.remove(id)
    for (const app of apps) this.set(app)
  }

  set(app: EdgeApp): void {
    const before = this.#apps.get(app.id)
    if (before !== undefined && before.host !== null) this.#byHost.delete(before.host)
    this.#apps.set(app.id, app)
    if (app.host !== null) this.#byHost.set(app.host, app)
    this.#tell(before, app.sandbox_ids)
  }

  remove(id: string): void {
    const before = this.#apps.get(id)
    if (before === undefined) return
    this.#apps.delete(id)
    if (before.host !== null) this.#byHost.delete(before.host)
    this.#tell(before, [])
  }

  #tell(before: EdgeApp | undefined, serving: readonly string[]): void {
    const gone = (before?.sandbox_ids ?? []).filter((id) => !serving.includes(id))
    if (gone.length > 0) this.onReplaced(gone as SandboxId[])
  }
}
