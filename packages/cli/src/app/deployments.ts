import type { App } from '@offshoot/contract/app'
import type { Deployment } from '@offshoot/contract/deployment'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { EXIT, Failure } from '../frame/failure.ts'
import { age, type Style } from '../frame/output.ts'
import { pick } from '../frame/resolve.ts'
import { readApp } from './show.ts'

const STYLES: Readonly<Record<Deployment['status'], Style>> = {
  queued: 'yellow',
  building: 'yellow',
  deploying: 'yellow',
  live: 'green',
  failed: 'red',
  superseded: 'dim',
}

export const run: Action = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  const deployments = await deploymentsOf(cli, app)
  const { out } = cli
  out.list(line.options, deployments, {
    id: ({ id }) => id,
    headings: ['ID', 'STATUS', 'REF', 'COMMIT', 'AGE', 'ERROR'],
    row: (each) => [
      each.id,
      out.style(STYLES[each.status], each.status),
      each.git_ref,
      each.git_commit?.slice(0, 12) ?? '',
      age(each.created_at),
      each.error ?? '',
    ],
    empty: `There are no deployments yet. Begin one: offshoot app deploy ${app.name}`,
  })
}

/** The deployment of an app that `text` names; without a text, the newest. */
export async function findDeployment(cli: Cli, app: App, text?: string): Promise<Deployment> {
  const all = await deploymentsOf(cli, app)
  if (text !== undefined) return pick('deployment', `offshoot app deployments ${app.name}`, text, all)
  const [newest] = all
  if (newest !== undefined) return newest
  throw new Failure(`${app.name} has no deployments yet`, {
    exitCode: EXIT.notFound,
    next: `begin one with offshoot app deploy ${app.name}`,
  })
}

async function deploymentsOf(cli: Cli, { id }: App): Promise<Deployment[]> {
  const request = { path: { id }, query: { limit: 1000 }, signal: cli.signal }
  return (await cli.api()).list('GET /v1/apps/{id}/deploys', request).all()
}
