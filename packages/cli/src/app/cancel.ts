import { type Action, operand } from '../frame/command.ts'
import { findDeployment } from './deployments.ts'
import { readApp } from './show.ts'

export const run: Action = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  const { id } = await findDeployment(cli, app, line.operands[1])
  const path = { id: app.id, deployment_id: id }
  const request = { path, signal: cli.signal }
  const cancelled = await (await cli.api()).request('POST /v1/apps/{id}/deploys/{deployment_id}/cancel', request)
  cli.out.result(line.options, cancelled, id)
}
