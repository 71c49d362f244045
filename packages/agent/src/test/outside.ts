/**
 * The simulated internet of a test world: an HTTP server that echoes path and source address, an echo server, and a name server.
 * Runs as a program in a namespace of its own, and writes a line of JSON for each request.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'

/** Size of `/large`. */
const LARGE_BYTES = 2_000_000
const [ports = ''] = process.argv.slice(2)
/** Names and their addresses. One resolves to an address that guests must not reach. */
const NAMES = new Map([
  ['public.example', '93.184.216.34'],
  ['rebind.example', '10.99.0.1'],
])

function say(heard: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(heard)}\n`)
}

for (const port of ports.split(',').map(Number)) {
  const server = createServer((request, response) => {
    const { remoteAddress: from, localAddress: to } = request.socket
    say({ kind: 'http', from, to, port, url: request.url })
    if (request.method === 'POST') request.resume().once('end', () => response.end('taken\n'))
    else if (request.url === '/large') response.end(Buffer.alloc(LARGE_BYTES))
    else response.end(`${request.url} at ${to} for ${from}\n`)
  })
  server.listen(port, '0.0.0.0')
}

/** The echo server. Reports how connections end. */
const held = createTcpServer({ allowHalfOpen: false }, (socket: Socket) => {
  const { remoteAddress: from, remotePort } = socket
  say({ kind: 'opened', from, remotePort })
  socket.on('data', (bytes) => socket.write(bytes))
  socket.on('error', (error) => say({ kind: 'reset', from, remotePort, error: String(error) }))
  socket.on('close', () => say({ kind: 'closed', from, remotePort }))
})
held.listen(7, '0.0.0.0')

const names = createSocket('udp4')
names.on('message', (question: Buffer, from: RemoteInfo) => {
  const name = nameIn(question)
  say({ kind: 'dns', from: from.address, name })
  const address = NAMES.get(name)
  const answer = Buffer.concat([
    question.subarray(0, 12 + name.length + 2 + 4),
    address ? record(address) : Buffer.alloc(0),
  ])
  answer.writeUInt8(0x81, 2)
  answer.writeUInt8(address ? 0x80 : 0x83, 3)
  answer.writeUInt16BE(address ? 1 : 0, 6)
  answer.fill(0, 8, 12)
  names.send(answer, from.port, from.address)
})
names.bind(53, '0.0.0.0', () => say({ kind: 'ready' }))

function nameIn(question: Buffer): string {
  const labels: string[] = []
  for (let at = 12; question[at] !== undefined && question[at] !== 0; at += 1 + (question[at] ?? 0)) {
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)))
  }
  return labels.join('.')
}

function record(address: string): Buffer {
  return Buffer.concat([Buffer.from('c00c00010001000000000004', 'hex'), Buffer.from(address.split('.').map(Number))])
}
