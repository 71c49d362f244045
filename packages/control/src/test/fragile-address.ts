import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

interface Target {
  readonly host: string
  readonly port: number
}

/** An address at which a server is reached until a test breaks the network between, or puts another server there. */
export class FragileAddress {
  readonly host = '127.0.0.1'
  readonly #server: Server
  readonly #pairs = new Set<{ readonly caller: Socket; readonly target: Socket }>()
  #isRefusing = false
  #delayMs = 0
  readonly #lost = { toTarget: false, toCaller: false }

  #target: Target

  private constructor(behind: Target) {
    this.#target = behind
    this.#server = createServer((caller) => {
      caller.on('error', () => undefined)
      if (this.#isRefusing) {
        caller.destroy()
        return
      }
      const target = connect(this.#target.port, this.#target.host).on('error', () => undefined)
      const pair = { caller, target }
      this.#pairs.add(pair)
      caller.on('data', (data) => void (this.#lost.toTarget || target.write(data)))
      target.on('data', (data) => {
        if (this.#lost.toCaller) return
        if (this.#delayMs === 0) caller.write(data)
        else setTimeout(() => caller.write(data), this.#delayMs)
      })
      caller.on('close', () => void (this.#lost.toTarget || target.destroy()))
      target.on('close', () => void (this.#lost.toCaller || caller.destroy()))
    })
  }

  static async before(target: Target): Promise<FragileAddress> {
    const address = new FragileAddress(target)
    await once(address.#server.listen(0, address.host), 'listening')
    return address
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Ends every connection, and each that comes. */
  refuse(): void {
    this.#isRefusing = true
    this.#end()
  }

  /** Ends every connection. The next ones reach this server, as after a failover behind a virtual IP address. */
  moveTo(target: Target): void {
    this.#target = target
    this.#end()
  }

  /** From now on it passes no bytes on in this direction, and does not tell the receiver when the sender closes. */
  lose(direction: 'toTarget' | 'toCaller'): void {
    this.#lost[direction] = true
  }

  /** Each answer comes that many milliseconds later. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs
  }

  mend(): void {
    this.#isRefusing = false
    this.#delayMs = 0
    this.#lost.toTarget = false
    this.#lost.toCaller = false
  }

  close(): void {
    this.#server.close()
    this.#end()
  }

  #end(): void {
    for (const { caller, target } of this.#pairs) {
      caller.destroy()
      target.destroy()
    }
    this.#pairs.clear()
  }
}
