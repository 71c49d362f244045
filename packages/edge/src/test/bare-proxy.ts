/**
 * The least that a proxy of Node does: its server in front, a pool of undici inside, and no check of anything. It shows
 * how fast the edge could be with these two libraries. Arguments: its port, and the port that it forwards to.
 */
import { createServer, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

const [port, inside] = process.argv.slice(2).map(Number)
const pool = new Pool(`http://127.0.0.1:${inside}`, { connections: 64, pipelining: 1 })

class Answer implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse
  #body = ''

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** undici takes a handler without it for one of an earlier version. */
  onRequestStart(): void {
    // Nothing has to begin.
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const headers = (controller.rawHeaders as (Buffer | string)[]).map((each) => each.toString('latin1'))
    this.#response.writeHead(status, headers)
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#body += chunk.toString('latin1')
  }

  onResponseEnd(): void {
    this.#response.end(this.#body, 'latin1')
  }

  onResponseError(): void {
    this.#response.destroy()
  }
}

createServer({ noDelay: true }, (request, response) => {
  const { method = '', url = '', rawHeaders } = request
  pool.dispatch({ method, path: url, headers: rawHeaders }, new Answer(response))
}).listen(port, '127.0.0.1')
