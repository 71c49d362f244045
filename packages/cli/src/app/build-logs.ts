import { type Action, operand } from '../frame/command.ts'
import { showText } from '../server/show-text.ts'
import { findDeployment } from './deployments.ts'
import { readApp } from './show.ts'
import { followBuildLog } from './watch-deployment.ts'

export const run: Action<{ readonly follow?: boolean }> = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  const { id } = await findDeployment(cli, app, line.operands[1])
  if (line.options.follow) return followBuildLog(cli, app.id, id, (text) => cli.out.line(text))
  const path = { id: app.id, deployment_id: id }
  const request = { path, headers: { accept: 'text/plain' }, signal: cli.signal }
  await showText(cli, await (await cli.api()).fetch('GET /v1/apps/{id}/deploys/{deployment_id}/logs', request))
}
