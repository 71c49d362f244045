import { randomUUID } from 'node:crypto'
import { databaseUser } from '@offshoot/contract/database'
import { describe, expect, it } from 'vitest'
import { CancelKeys } from './cancel-keys.ts'
import { StartupAnswers } from './startup-answers.ts'
import { requestedDatabase } from './requested-database.ts'

const id = randomUUID()
const owner = databaseUser(id)
const other = databaseUser(randomUUID())

describe('which database is wanted', () => {
  it.each([
    ['the owner', owner, null, null, { id, user: owner }],
    ['another role, with the owner behind it', `reader.${owner}`, null, null, { id, user: 'reader' }],
    ['a role with a dot in its name', `a.b.${owner}`, null, null, { id, user: 'a.b' }],
    ['a server name', 'reader', `${id}.db.example.com`, 'example.com', { id, user: 'reader' }],
    [
      'a server name in capitals',
      'reader',
      `${id.toUpperCase()}.DB.EXAMPLE.COM`,
      'example.com',
      { id, user: 'reader' },
    ],
    ['both, alike', owner, `${id}.db.example.com`, 'example.com', { id, user: owner }],
    ['both, and differently', other, `${id}.db.example.com`, 'example.com', null],
    ['a name under another suffix', 'reader', `${id}.db.example.org`, 'example.com', null],
    ['a server name without a suffix of ours', 'reader', `${id}.db.example.com`, null, null],
    ['neither', 'postgres', null, null, null],
    ['nobody', '', null, null, null],
  ])('%s', (_what, user, serverName, suffix, wanted) => {
    expect(requestedDatabase(user, serverName, suffix)).toEqual(wanted)
  })
})

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

describe('cancel keys', () => {
  const key = Buffer.from('0000000700000009', 'hex')
  const answers = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('S', Buffer.from('a\0b\0')),
    message('K', key),
    message('Z', Buffer.from('I')),
  ])

  it('are read however the bytes come', () => {
    for (let size = 1; size <= answers.length; size++) {
      const reader = new StartupAnswers()
      for (let at = 0; at < answers.length; at += size) reader.read(answers.subarray(at, at + size))
      expect([reader.cancelKey, reader.isOver]).toEqual([key.toString('hex'), true])
    }
  })

  it('are not searched for after an invalid message', () => {
    const reader = new StartupAnswers()
    reader.read(Buffer.from([0x44, 0x7f, 0xff, 0xff, 0xff]))
    expect([reader.cancelKey, reader.isOver]).toEqual([null, true])
  })

  it('lead to every database that gave them, for as long as the connection lasts', () => {
    const keys = new CancelKeys()
    const [first, second] = [randomUUID(), randomUUID()] as never[]
    const forget = keys.add('k', first as never)
    keys.add('k', second as never)
    expect(keys.of('k')).toEqual([first, second])
    forget()
    expect(keys.of('k')).toEqual([second])
    expect(keys.of('other')).toEqual([])
  })
})
