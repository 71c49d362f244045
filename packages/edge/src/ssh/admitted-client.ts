/**
 * What a client has been admitted to, as long as its connection lasts: one sandbox, with a grant for it. The grant is
 * valid for some minutes, and every minute control checks again whether the client may still have it.
 */
import {
  type EdgeSshAdmission,
  type EdgeSshRequest,
  SSH_GRANT_SECONDS,
  SSH_RENEW_MS,
} from '@offshoot/contract/edge-ssh'
import type { SandboxId } from '@offshoot/contract/ids'
import { setTimeout as delay } from 'node:timers/promises'
import { askAdmission, type AskedControl } from './ask-control-for-ssh.ts'

/** Milliseconds after which a grant is not used any more: its lifetime, without the time for the request and skew. */
const USABLE_MS = (SSH_GRANT_SECONDS - 30) * 1000
/** Milliseconds for which a request waits for a control that restarts or is busy. */
const CONTROL_AWAY_MS = 10_000
const RETRY_MS = 500

export class SshDenied extends Error {
  override readonly name = 'SshDenied'
}

export class AdmittedClient {
  readonly sandboxId: SandboxId
  readonly user: string | null
  /** Whose connections count together. */
  readonly caller: string
  readonly #control: AskedControl
  readonly #request: EdgeSshRequest
  readonly #stopped: AbortSignal
  #grant: string
  #grantedAtMs = performance.now()
  #renewing: Promise<string> | undefined

  private constructor(
    control: AskedControl,
    request: EdgeSshRequest,
    admission: EdgeSshAdmission,
    stopped: AbortSignal,
  ) {
    this.#control = control
    this.#request = request
    this.#stopped = stopped
    this.sandboxId = admission.sandbox_id as SandboxId
    this.user = admission.user
    this.caller = admission.caller
    this.#grant = admission.grant
  }

  /** @param stopped ends every wait. @throws SshDenied; Error if control does not answer for ten seconds */
  static async admit(control: AskedControl, request: EdgeSshRequest, stopped: AbortSignal): Promise<AdmittedClient> {
    return new AdmittedClient(control, request, await ask(control, request, stopped), stopped)
  }

  /** A grant that is valid for at least half a minute. @throws as {@link admit} */
  async grant(): Promise<string> {
    return performance.now() - this.#grantedAtMs < USABLE_MS ? this.#grant : this.#renew()
  }

  /** Checks every minute, until the connection ends. @param onDenied called once */
  async keepChecking(onDenied: () => void): Promise<void> {
    while (!this.#stopped.aborted) {
      try {
        await delay(SSH_RENEW_MS, undefined, { signal: this.#stopped, ref: false })
        await this.#renew()
      } catch (error) {
        if (error instanceof SshDenied) return onDenied()
        // Control is away: the connection goes on, and new commands fail once the grant has ended.
      }
    }
  }

  /** One renewal at a time. */
  #renew(): Promise<string> {
    this.#renewing ??= ask(this.#control, { ...this.#request, grant: this.#grant }, this.#stopped)
      .then(({ grant }) => {
        this.#grantedAtMs = performance.now()
        this.#grant = grant
        return grant
      })
      .finally(() => (this.#renewing = undefined))
    return this.#renewing
  }
}

async function ask(control: AskedControl, request: EdgeSshRequest, stopped: AbortSignal): Promise<EdgeSshAdmission> {
  const endsAtMs = performance.now() + CONTROL_AWAY_MS
  for (;;) {
    try {
      const admission = await askAdmission(control, request)
      if (admission === null) throw new SshDenied('permission denied')
      return admission
    } catch (error) {
      if (error instanceof SshDenied || stopped.aborted || performance.now() > endsAtMs) throw error
    }
    await delay(RETRY_MS, undefined, { signal: stopped })
  }
}
