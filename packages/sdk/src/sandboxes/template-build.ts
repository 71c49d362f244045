import { OffshootError } from '../http/errors.ts'
import type { Build as BuildInfo, BuildLogLine } from '../generated/models.ts'
import { followLines } from '../http/follow.ts'
import { fromWire } from '../http/rename.ts'
import { Resource } from '../http/resource.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'
import { waitFor } from '../http/wait.ts'

export type { BuildInfo }

/** The service could not build the template. `build.error` names the stage and the file or the last output. */
export class BuildFailedError extends OffshootError {
  override readonly name = 'BuildFailedError'
  readonly build: BuildInfo

  constructor(build: BuildInfo) {
    super(`the build of the template ${build.name} failed: ${build.error}`)
    this.build = build
  }
}

/** The build of a template. It goes on without the program. */
export class TemplateBuild extends Resource<'GET /v1/builds/{id}', BuildInfo> {
  readonly id: string

  /** @internal */
  constructor(scope: Scope, info: BuildInfo) {
    const own = scope.with({ id: info.id })
    super('GET /v1/builds/{id}', 'DELETE /v1/builds/{id}', { scope: own, info, isOwned: false })
    this.id = info.id
  }

  /**
   * The lines of the log with the stage and the percentage, then new ones until the build ends. A broken connection is
   * continued without a gap or a repetition.
   */
  async *followLogs(options: CallOptions = {}): AsyncGenerator<BuildLogLine, void, undefined> {
    const request = this.scope.request('GET /v1/builds/{id}/logs', { ...options, query: { follow: true } })
    for await (const line of followLines(this.scope.transport, request)) yield fromWire<BuildLogLine>(JSON.parse(line))
  }

  /** The log until now as text. */
  async logs(options: CallOptions = {}): Promise<string> {
    return this.scope.transport.text(this.scope.request('GET /v1/builds/{id}/logs', options))
  }

  /**
   * Waits until the template is there. Without `timeoutMs` there is no limit.
   * @throws BuildFailedError; TimeoutError when the time is over, and the build goes on
   */
  async wait(options: CallOptions = {}): Promise<BuildInfo> {
    const build = await waitFor(`the build ${this.id}`, options, async (call) => {
      const info = await this.refresh(call)
      return info.endedAt === null ? null : info
    })
    if (build.status === 'failed') throw new BuildFailedError(build)
    return build
  }

  /** Cancels the build. It is no error if it has ended. */
  override async delete(options: CallOptions = {}): Promise<void> {
    await super.delete(options)
  }
}
