import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { KnownAgent } from './agent-directory.ts'
import { type PlacementRule, placementRules } from './host-state-statements.ts'

/**
 * Tells on which hosts control may place a workspace's new objects. Operators set the rules. Each control process keeps
 * them in memory and reads the rows every second, because a statement within each create would make all of them slower.
 */
export class PlacementRules {
  readonly #pool: pg.Pool
  #rules: ReadonlyMap<string, PlacementRule> = new Map()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Reads the rows once. {@link Fleet.refreshHosts} does so every second, with one call after the other. */
  async refresh(): Promise<void> {
    const rows = await placementRules(this.#pool)
    this.#rules = new Map(rows.map((row) => [row.workspace_id, row]))
  }

  /** Those hosts that have the labels and the zone that the workspace requires. */
  allowed<Agent extends KnownAgent>(agents: readonly Agent[], workspaceId: WorkspaceId): Agent[] {
    return agents.filter((agent) => this.allows(agent, workspaceId))
  }

  /** For something new that can be on this host only. @throws ApiError 502 if the host may not get it */
  refuse(agent: KnownAgent | undefined, workspaceId: WorkspaceId): void {
    if (agent?.isCordoned === true) throw new ApiError('noComputeNode', { detail: 'the host is cordoned' })
    if (agent !== undefined && !this.allows(agent, workspaceId)) {
      throw new ApiError('noComputeNode', {
        detail: 'the host lacks the labels or the zone that the workspace requires',
      })
    }
  }

  /** For something new that no host may get now. */
  noHost(workspaceId: WorkspaceId): ApiError {
    const detail = 'no host with the labels and the zone that the workspace requires can take it'
    return new ApiError('noComputeNode', this.#rules.has(workspaceId) ? { detail } : {})
  }

  /** Whether the host has the labels and the zone that the workspace requires. */
  allows({ labels, zone }: KnownAgent, workspaceId: WorkspaceId): boolean {
    const rule = this.#rules.get(workspaceId)
    if (rule === undefined) return true
    const { required_labels: required, required_zone: requiredZone } = rule
    const hasLabels = Object.entries(required).every(([key, value]) => labels[key] === value)
    return hasLabels && (requiredZone === null || zone === requiredZone)
  }
}
