import { type Action, operand } from '../frame/command.ts'
import { readApp } from './show.ts'
import { type DeployOptions, watchDeployment } from './watch-deployment.ts'

export const run: Action<DeployOptions> = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  const body = { git_ref: line.operands[1] }
  const request = { path: { id: app.id }, body, signal: cli.signal }
  await watchDeployment(cli, line, app, await (await cli.api()).request('POST /v1/apps/{id}/deploys', request))
}
