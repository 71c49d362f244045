/** A program in TypeScript. The tests compile it against the published types. */
import { type Branch, type CommandExit, explore, NotFoundError, Offshoot, type Sandbox } from '@offshoot/sdk'

export async function use(client: Offshoot): Promise<string> {
  const sandbox: Sandbox = await client.sandboxes.create({ template: 'base', ttlSeconds: 60, env: { A_B: 'x' } })
  const exit: CommandExit = await sandbox.exec('true', { check: true })
  const chunks: Uint8Array[] = []
  for await (const { data } of sandbox.exec.stream('ls', { encoding: 'bytes' })) chunks.push(data)
  const texts: string[] = []
  for await (const { data } of sandbox.exec.stream('ls')) texts.push(data)
  const branch: Branch<number> = { name: 'one', run: async (fork) => (await fork.exec('true')).exitCode }
  const { best } = await explore(sandbox, [branch], { score: (value) => value })
  const templates = await client.request('GET /v1/templates', { query: { name: 'base' } })
  const names: string[] = templates.map(({ name }) => name)
  const children = await sandbox.fork({ count: 2 })
  // @ts-expect-error the API has no such route
  await client.request('GET /v1/nothing')
  // @ts-expect-error a number of seconds
  await client.sandboxes.create({ ttlSeconds: '60' })
  // @ts-expect-error a text has no bytes
  texts.push(...chunks)
  try {
    await sandbox.files.read('/missing')
  } catch (error) {
    if (error instanceof NotFoundError) return `${error.status}${error.requestId ?? ''}`
  }
  return [exit.exitCode, best?.value, names, children.sandboxes.length].join()
}
