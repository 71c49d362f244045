import ssh2, { type AnyAuthMethod } from 'ssh2'
import { patience } from './edge-under-test.ts'

/** Signs in at an SSH port of this machine. @returns `opened`, or why not */
export async function signIn(port: number, method: AnyAuthMethod): Promise<string> {
  const client = new ssh2.Client()
  const { promise, resolve } = Promise.withResolvers<string>()
  client.once('ready', () => resolve('opened')).on('error', (error) => resolve(error.message))
  client.connect({ host: '127.0.0.1', port, username: method.username, authHandler: [method] })
  const outcome = await patience('an answer').race(promise)
  client.destroy()
  return outcome
}
