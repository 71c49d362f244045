// A preview for each pull request, from continuous integration. Run it when a pull request is opened, gets a push, or is
// closed:
//
//     PULL_NUMBER=7 GIT_REF=feature node preview-per-pull-request.ts
//     PULL_NUMBER=7 CLOSED=1 node preview-per-pull-request.ts
import { type App, Offshoot } from '@offshoot/sdk'

const REPOSITORY = process.env['REPOSITORY'] ?? 'https://git.example.com/you/site.git'
const { PULL_NUMBER: number, GIT_REF: ref = 'main', CLOSED: closed } = process.env
if (number === undefined) throw new Error('set PULL_NUMBER')
const name = `pull-${number}`
const client = new Offshoot()

async function find(): Promise<App | undefined> {
  for await (const app of client.apps.list()) if (app.info.name === name) return app
  return undefined
}

const existing = await find()
if (closed === '1') {
  await existing?.delete()
  console.log('removed', name)
} else {
  const app = existing ?? (await client.apps.create({ name, gitUrl: REPOSITORY }))
  const deployment = await app.deploy({ gitRef: ref })
  for await (const line of deployment.followLogs()) console.error(line)
  await deployment.wait()
  console.log(existing === undefined ? 'created' : 'updated', app.info.url)
}
