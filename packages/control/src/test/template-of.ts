import type { FakeAgent } from './fake-agent.ts'
import { call, eventually, type RunningControl, type Tenant } from './harness.ts'

/** Builds the template `mine` of the workspace, in place of an earlier one. @returns its id and the host that built it */
export async function templateOf(
  control: RunningControl,
  { key }: Tenant,
  agents: readonly FakeAgent[],
): Promise<{ readonly id: string; readonly home: FakeAgent }> {
  const fields = { name: 'mine', size_mb: 64, cpu: 1, memory_mb: 512, replace: true }
  const body = { ...fields, rootfs: Buffer.from('an archive').toString('base64') }
  const { status, body: build } = await call(control.url, 'POST', '/v1/templates/build', { token: key, body })
  if (status !== 202) throw new Error(`the build answered ${status}: ${JSON.stringify(build)}`)
  const home = agents.find(({ state }) => state.builds.builds.has(build.id))
  if (home === undefined) throw new Error('no agent builds it')
  home.state.builds.finish(build.id)
  await eventually(async () => {
    const { body: now } = await call(control.url, 'GET', `/v1/builds/${build.id}`, { token: key })
    return now.status === 'done'
  })
  return { id: build.id, home }
}
