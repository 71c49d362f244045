import { type Action, operand } from '../frame/command.ts'
import { findDeployment } from './deployments.ts'
import { readApp } from './show.ts'
import { type DeployOptions, watchDeployment } from './watch-deployment.ts'

export const run: Action<DeployOptions> = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  const [, text] = line.operands
  const body = { deployment_id: text === undefined ? undefined : (await findDeployment(cli, app, text)).id }
  const request = { path: { id: app.id }, body, signal: cli.signal }
  await watchDeployment(cli, line, app, await (await cli.api()).request('POST /v1/apps/{id}/rollback', request))
}
