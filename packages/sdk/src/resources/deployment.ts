import type { DeploymentWithLogs } from '../generated/models.ts'
import { OffshootError } from '../http/errors.ts'
import { followLines } from '../http/follow.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'
import { waitFor } from '../http/wait.ts'

/** A deployment without its log, which `logs()` reads. */
export type DeploymentInfo = Omit<DeploymentWithLogs, 'buildLogs'>

/** The version could not be deployed; the one before serves on. `deployment.error` has the reason. */
export class DeploymentFailedError extends OffshootError {
  override readonly name = 'DeploymentFailedError'
  readonly deployment: DeploymentInfo

  constructor(deployment: DeploymentInfo) {
    super(`the deployment ${deployment.id} failed: ${deployment.error}`)
    this.deployment = deployment
  }
}

/** One version of an app on its way to visitors. It goes on without the program. */
export class Deployment {
  readonly id: string
  readonly #scope: Scope
  #info: DeploymentInfo

  /** @internal */
  constructor(scope: Scope, info: DeploymentInfo) {
    this.id = info.id
    this.#info = info
    this.#scope = scope.with({ id: info.appId, deployment_id: info.id })
  }

  /** As the service has last described it. */
  get info(): DeploymentInfo {
    return this.#info
  }

  /** Asks the service for the current description. @throws NotFoundError */
  async refresh(options: CallOptions = {}): Promise<DeploymentInfo> {
    const { buildLogs: _logs, ...info } = await this.#scope.get('GET /v1/apps/{id}/deploys/{deployment_id}', options)
    this.#info = info
    return info
  }

  /** The lines of the build log, then new ones until the deployment has ended, without a gap or a repetition. */
  followLogs(options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    const request = this.#scope.request('GET /v1/apps/{id}/deploys/{deployment_id}/logs', {
      ...options,
      query: { follow: true },
    })
    return followLines(this.#scope.transport, request)
  }

  /** The build log until now as text. */
  async logs(options: CallOptions = {}): Promise<string> {
    return this.#scope.transport.text(this.#scope.request('GET /v1/apps/{id}/deploys/{deployment_id}/logs', options))
  }

  /**
   * Waits until the deployment has ended: it is `live`, or `superseded` by a newer one. Without `timeoutMs` there is no
   * limit.
   * @throws DeploymentFailedError; TimeoutError when the time is over, and the deployment goes on
   */
  async wait(options: CallOptions = {}): Promise<DeploymentInfo> {
    const ended = await waitFor(`the deployment ${this.id}`, options, async (call) => {
      const info = await this.refresh(call)
      return HAS_ENDED.has(info.status) ? info : null
    })
    if (ended.status === 'failed') throw new DeploymentFailedError(ended)
    return ended
  }

  /** Cancels it. @throws ConflictError if it has ended */
  async cancel(options: CallOptions = {}): Promise<this> {
    this.#info = await this.#scope.call('POST /v1/apps/{id}/deploys/{deployment_id}/cancel', options)
    return this
  }
}

const HAS_ENDED: ReadonlySet<DeploymentInfo['status']> = /* @__PURE__ */ new Set(['live', 'failed', 'superseded'])
