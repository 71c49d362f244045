import { createSocket } from 'node:dgram'
import { createConnection, isIPv6 } from 'node:net'
import type { Deadline } from '@offshoot/kit/deadline'
import { randomInt } from 'node:crypto'
import { frame, isAnswerTo, LengthPrefixed, withId } from './dns-message.ts'

/** A name server: its address and its port. */
export interface Resolver {
  readonly address: string
  readonly port: number
}

/**
 * Sends one question to one name server, from a random port with a random id: a spoofed answer would have to guess both.
 * @throws DeadlineExceeded, or the socket's error
 */
export async function queryByUdp({ address, port }: Resolver, question: Buffer, deadline: Deadline): Promise<Buffer> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  const sent = withId(question, randomInt(0x10000))
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  socket.once('error', reject)
  socket.on('message', (message) => {
    if (isAnswerTo(message, sent)) resolve(message)
  })
  // On a connected socket the kernel drops packets from other senders, and reports ICMP errors.
  socket.connect(port, address, () => socket.send(sent, (error) => error && reject(error)))
  try {
    return withId(await deadline.race(promise), question.readUInt16BE(0))
  } finally {
    socket.on('error', () => undefined)
    socket.close()
  }
}

/** The same over TCP, for long answers. */
export async function queryByTcp({ address, port }: Resolver, question: Buffer, deadline: Deadline): Promise<Buffer> {
  const socket = createConnection({ host: address, port })
  const sent = withId(question, randomInt(0x10000))
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const messages = new LengthPrefixed((message) => {
    if (isAnswerTo(message, sent)) resolve(message)
  })
  socket.once('error', reject)
  socket.once('close', () => reject(new Error('the name server hung up')))
  socket.on('data', (bytes: Buffer) => messages.push(bytes))
  socket.write(frame(sent))
  try {
    return withId(await deadline.race(promise), question.readUInt16BE(0))
  } finally {
    socket.destroy()
  }
}
