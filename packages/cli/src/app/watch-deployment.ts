import type { App } from '@offshoot/contract/app'
import type { Deployment } from '@offshoot/contract/deployment'
import type { Cli } from '../frame/cli.ts'
import type { Line } from '../frame/command.ts'
import { Failure } from '../frame/failure.ts'
import { follow } from '../frame/follow.ts'
import { Progress } from '../frame/progress.ts'

/** Options of commands that begin a deployment. */
export interface DeployOptions {
  readonly detach?: boolean
}

/**
 * Shows the log of a deployment until it has ended, then prints its id. The deployment goes on without the program.
 * @throws Failure unless it went live
 */
export async function watchDeployment(
  cli: Cli,
  { options }: Line<DeployOptions>,
  app: App,
  { id, ...begun }: Deployment,
): Promise<void> {
  const { detach = false, json, quiet = false } = options
  if (detach) return cli.out.result(options, { id, ...begun }, id)
  const progress = new Progress(cli, `deploying ${app.name}`)
  try {
    await followBuildLog(cli, app.id, id, (line) => {
      progress.clear()
      if (!quiet) cli.out.note(line)
      if (line.startsWith('==> ')) progress.say(line.slice(4))
    })
  } finally {
    progress[Symbol.dispose]()
  }
  if (cli.signal.aborted) {
    cli.out.note(`The deployment goes on. End it: offshoot app cancel ${app.name} ${id}`)
    throw cli.signal.reason
  }
  const path = { id: app.id, deployment_id: id }
  const ended = await (
    await cli.api()
  ).request('GET /v1/apps/{id}/deploys/{deployment_id}', { path, signal: cli.signal })
  if (ended.status === 'failed')
    throw new Failure(`the deployment failed (${ended.error ?? 'without a reason'})`, {
      next: `read its log with offshoot app build-logs ${app.name} ${id}`,
    })
  // One that never began gave way to a newer one.
  if (ended.status === 'superseded' && ended.started_at === null)
    throw new Failure('a newer deployment took its place', { next: `see offshoot app deployments ${app.name}` })
  const { build_logs: _log, ...deployment } = ended
  if (json) return cli.out.json(deployment)
  cli.out.line(id)
  if (!quiet) cli.out.note(`Live: ${app.name_url ?? app.url}`)
}

/** Calls `show` with each line of the log until the deployment has ended, or the user leaves. */
export async function followBuildLog(
  cli: Cli,
  appId: string,
  deploymentId: string,
  show: (line: string) => void,
): Promise<void> {
  const api = await cli.api()
  const path = { id: appId, deployment_id: deploymentId }
  const events = follow(cli, (how) =>
    api.follow('GET /v1/apps/{id}/deploys/{deployment_id}/logs', { path, query: { follow: true }, ...how }),
  )
  for await (const { event, data } of events) if (event !== 'done') show(data)
}
