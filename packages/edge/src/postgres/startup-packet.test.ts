import { describe, expect, it } from 'vitest'
import { ConnectionRefused, errorResponse, SQLSTATE } from './error-response.ts'
import { MAX_PACKET_BYTES, readFirstPacket, startupPacket } from './startup-packet.ts'

const int32 = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeInt32BE(value, index * 4))
  return bytes
}
const V3 = 196_608

describe('the first packet of a connection', () => {
  it('is a start-up that is read as it is written', () => {
    const parameters = new Map([
      ['user', 'db_x'],
      ['database', 'app'],
      ['options', ''],
    ])
    const bytes = startupPacket(V3, parameters)
    expect(readFirstPacket(bytes)).toEqual({
      packet: { kind: 'startup', version: V3, parameters },
      length: bytes.length,
    })
  })

  it('is waited for until it is whole, and what is behind it is not part of it', () => {
    const bytes = startupPacket(V3, new Map([['user', 'u']]))
    for (let length = 0; length < bytes.length; length++) expect(readFirstPacket(bytes.subarray(0, length))).toBeNull()
    expect(readFirstPacket(Buffer.concat([bytes, Buffer.from('more')]))?.length).toBe(bytes.length)
  })

  it('may ask for encryption, or cancel', () => {
    expect(readFirstPacket(int32(8, 80_877_103))?.packet).toEqual({ kind: 'tls' })
    expect(readFirstPacket(int32(8, 80_877_104))?.packet).toEqual({ kind: 'gss' })
    const packet = int32(16, 80_877_102, 7, 9)
    expect(readFirstPacket(packet)?.packet).toEqual({ kind: 'cancel', key: '0000000700000009', packet })
  })

  it.each([
    ['no length', int32(0, V3)],
    ['a negative length', int32(-1, V3)],
    ['more than anybody sends', int32(MAX_PACKET_BYTES + 1, V3)],
    ['version 2', int32(8, 131_072)],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a name without a value', Buffer.concat([int32(14, V3), Buffer.from('user\0\0')])],
    ['no end', Buffer.concat([int32(15, V3), Buffer.from('user\0u\0')])],
    ['one name twice', Buffer.concat([int32(23, V3), Buffer.from('user\0a\0user\0b\0\0')])],
  ])('with %s is invalid', (_what, bytes) => {
    expect(readFirstPacket(bytes)?.packet).toEqual({ kind: 'invalid' })
  })
})

it('a refusal is an ErrorResponse with severity, code, message and hint', () => {
  const bytes = errorResponse(new ConnectionRefused(SQLSTATE.tooManyConnections, 'too many', 'Wait.'))
  expect(bytes.toString('latin1', 0, 1)).toBe('E')
  expect(bytes.readInt32BE(1)).toBe(bytes.length - 1)
  expect(bytes.toString('utf8', 5).split('\0')).toEqual(['SFATAL', 'VFATAL', 'C53300', 'Mtoo many', 'HWait.', '', ''])
})
