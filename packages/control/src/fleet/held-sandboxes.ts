import { ApiError } from '@offshoot/contract/errors'
import type pg from 'pg'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused } from './agent-failure.ts'
import { copyHolding, type CopyRow, endCopy, noteSettled } from './copy-statements.ts'
import type { Fleet } from './fleet.ts'
import { settle } from './move-calls.ts'
import { look, type Subject } from './sandbox-calls.ts'

const IN_USE = 'the sandbox is in use'

/**
 * Gives up the stored copies of sandboxes that are used again. A host refuses to wake a sandbox while there is a copy
 * (docs/adr/0053-stored-copies.md). The row of the copy decides: it is given up, or another host takes the sandbox over.
 */
export class HeldSandboxes {
  readonly #pool: pg.Pool
  readonly #fleet: Pick<Fleet, 'byId'>
  readonly #releasing = new Map<string, Promise<boolean>>()

  constructor(pool: pg.Pool, fleet: Pick<Fleet, 'byId'>) {
    this.#pool = pool
    this.#fleet = fleet
  }

  /**
   * Concurrent calls for one sandbox share the work.
   * @returns whether its host may change the sandbox again; `false` if no copy held it, or another host has it now
   * @throws ApiError 502, AgentUnreachable: the host does not answer. The copy stays.
   */
  release(sandboxId: string, requestId: string): Promise<boolean> {
    const known = this.#releasing.get(sandboxId)
    if (known !== undefined) return known
    const released = this.#release(sandboxId, requestId).finally(() => this.#releasing.delete(sandboxId))
    this.#releasing.set(sandboxId, released)
    return released
  }

  async #release(sandboxId: string, requestId: string): Promise<boolean> {
    const [copy] = await copyHolding(this.#pool, sandboxId)
    if (copy === undefined) return false
    const client = this.#fleet.byId(copy.agent_id)?.client
    if (client === undefined) throw new ApiError('agentUnreachable')
    const subject = { id: sandboxId, workspaceId: copy.workspace_id, requestId }
    if (copy.state !== 'ended' && !(await this.#giveUp(client, subject, copy))) return false
    await settleCopy(this.#pool, client, subject, copy.id)
    return true
  }

  async #giveUp(client: AgentClient, subject: Subject, copy: CopyRow): Promise<boolean> {
    // A host that is dead cannot have it back, and the copy may be all that is left.
    await look(client, subject)
    const [ended] = await endCopy(this.#pool, copy.id, IN_USE)
    if (ended !== undefined) return true
    const [now] = await copyHolding(this.#pool, subject.id)
    return now?.id === copy.id && now.state === 'ended'
  }
}

/** Tells the host that the sandbox stays with it. Idempotent. */
export async function settleCopy(pool: pg.Pool, client: AgentClient, subject: Subject, copyId: string): Promise<void> {
  try {
    await settle(client, subject, copyId, 'stay')
  } catch (error) {
    // The sandbox is gone, or moves otherwise: nothing of this copy is left there.
    if (!(error instanceof AgentRefused) || (error.status !== 404 && error.status !== 409)) throw error
  }
  await noteSettled(pool, copyId)
}
