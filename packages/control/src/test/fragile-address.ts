import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

interface Target {
  readonly host: string
  readonly port: number
}

/** An address at which a server is reached until a test breaks the network between. */
export class FragileAddress {
  readonly host = '127.0.0.1'
  readonly #server: Server
  readonly #pairs = new Set<{ readonly caller: Socket; readonly target: Socket }>()
  #isRefusing = false
  readonly #lost = { toTarget: false, toCaller: false }

  private constructor({ host, port }: Target) {
    this.#server = createServer((caller) => {
      caller.on('error', () => undefined)
      if (this.#isRefusing) {
        caller.destroy()
        return
      }
      const target = connect(port, host).on('error', () => undefined)
      const pair = { caller, target }
      this.#pairs.add(pair)
      caller.on('data', (data) => void (this.#lost.toTarget || target.write(data)))
      target.on('data', (data) => void (this.#lost.toCaller || caller.write(data)))
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

  /** Loses what is sent in one direction, also the end of a connection. */
  lose(direction: 'toTarget' | 'toCaller'): void {
    this.#lost[direction] = true
  }

  mend(): void {
    this.#isRefusing = false
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
