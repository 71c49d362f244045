import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** From the range reserved for benchmarks (RFC 2544), which has no other route. */
const NEAR = '198.18.77.1'
const FAR = '198.18.77.2'
const SERVER = `require('http').createServer((_, response) => response.end('hello')).listen(80, () => console.log('ready'))`

const ip = (line: string) => run('ip', line.split(' '))

export const TEST_HOST_URL = `http://${FAR}/`
/** The network exception that lets guests reach the test host. */
export const TEST_HOST_EXCEPTION = `${FAR}/32:80`

/** An HTTP server in its own network namespace, one hop away. */
export class TestHost {
  readonly #namespace: string
  readonly #server: ChildProcess

  private constructor(namespace: string, server: ChildProcess) {
    this.#namespace = namespace
    this.#server = server
  }

  static async start(): Promise<TestHost> {
    const namespace = `ofbench${process.pid}`
    const device = `ofv${process.pid}`
    await ip(`netns add ${namespace}`)
    await ip(`link add ${device} type veth peer name far netns ${namespace}`)
    await ip(`address add ${NEAR}/30 dev ${device}`)
    await ip(`link set ${device} up`)
    await ip(`-n ${namespace} address add ${FAR}/30 dev far`)
    await ip(`-n ${namespace} link set far up`)
    // The service does this for the uplinks that exist at its start.
    await writeFile(`/proc/sys/net/ipv4/conf/${device}/forwarding`, '1')
    const command = ['netns', 'exec', namespace, process.execPath, '-e', SERVER]
    const server = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(server.stdout, 'data')
    return new TestHost(namespace, server)
  }

  async stop(): Promise<void> {
    const ended = once(this.#server, 'exit')
    this.#server.kill('SIGKILL')
    await ended
    await run('ip', ['netns', 'delete', this.#namespace])
  }
}
