/**
 * Answers with its version and with the kernel's setting of random addresses; `/slow/MS` answers later with the host name. Implements the WebSocket greeting itself, so
 * that the app has no dependencies.
 */
const server = (version: string) => `
const { createHash } = require('node:crypto')
const addresses = require('node:fs').readFileSync('/proc/sys/kernel/randomize_va_space', 'utf8').trim()
const server = require('node:http').createServer((request, response) => {
  console.log('asked for ' + request.url)
  const [, slowMs] = /^\\/slow\\/(\\d+)$/.exec(request.url) ?? []
  if (slowMs) return setTimeout(() => response.end(require('node:os').hostname()), slowMs)
  response.end(JSON.stringify({ version: '${version}', url: request.url, secret: process.env.SECRET, built: require('./built.json'), addresses }))
})
server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const accept = createHash('sha1').update(key).digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nconnection: Upgrade\\r\\nupgrade: websocket\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
  socket.write(Buffer.from([0x81, 2, 0x68, 0x69]))
  socket.on('error', () => undefined)
})
server.listen(process.env.PORT)
`
/** Files of an app with build and start scripts. */
export const nodeApp = (version: string) => ({
  'package.json': JSON.stringify({
    scripts: {
      build: `echo building ${version} && echo "{\\"at\\":\\"$SECRET\\"}" > built.json`,
      start: 'node server.js',
    },
  }),
  'server.js': server(version),
})
