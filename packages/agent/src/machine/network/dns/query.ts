import { createSocket } from 'node:dgram'
import { createConnection, isIPv6 } from 'node:net'
import type { Deadline } from '@offshoot/kit/deadline'
import { randomInt } from 'node:crypto'
import { frame, isAnswerTo, LengthPrefixed, withId } from './dns-message.ts'

/** One who answers for names: an address, and a port where it is not the usual one. */
export interface Resolver {
  readonly address: string
  readonly port: number
}

/**
 * Puts one question to one name server, from a port and under a number that nobody else knows: an answer that somebody
 * made up has to guess both. @throws DeadlineExceeded, or what the socket says
 */
export async function queryByUdp({ address, port }: Resolver, question: Buffer, deadline: Deadline): Promise<Buffer> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  const sent = withId(question, randomInt(0x10000))
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  socket.once('error', reject)
  socket.on('message', (message) => {
    if (isAnswerTo(message, sent)) resolve(message)
  })
  // Connected: the kernel drops what comes from anybody else, and says when nobody is there.
  socket.connect(port, address, () => socket.send(sent, (error) => error && reject(error)))
  try {
    return withId(await deadline.race(promise), question.readUInt16BE(0))
  } finally {
    socket.on('error', () => undefined)
    socket.close()
  }
}

/** The same by TCP, for answers that are long. */
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
