import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type PassKeys, PreviewPasses } from './preview-passes.ts'

const ORIGIN = 'https://3000-x.example.com'
const soon = () => new Date(Date.now() + 60_000)

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Keys by version; the last is the current one. */
function keys(secrets: Readonly<Record<number, string>>, isResealed = false): PassKeys {
  const [version = 0] = Object.keys(secrets)
    .map(Number)
    .toSorted((a, b) => b - a)
  return {
    current: { version, secret: secrets[version] ?? '' },
    secretOf: (asked) => secrets[asked] ?? null,
    rows: version === 0 ? [] : [{ is_resealed: isResealed }],
  }
}

describe('a pass', () => {
  const link = { link: randomUUID() }
  const member = { user: randomUUID(), session: randomUUID() }

  it('tells whose it is, for its origin and as long as it is valid', async () => {
    const passes = new PreviewPasses(keys({ 0: 'zero' }))
    for (const holder of [link, member]) {
      const pass = await passes.sign(ORIGIN, holder, soon())
      expect(await passes.verify(ORIGIN, pass)).toEqual(holder)
      for (const origin of [ORIGIN.replace('https', 'http'), `${ORIGIN}:8081`, 'https://3001-x.example.com']) {
        expect(await passes.verify(origin, pass)).toBeNull()
      }
    }
    const late = await passes.sign(ORIGIN, link, new Date(Date.now() - 2_000))
    expect(await passes.verify(ORIGIN, late)).toBeNull()
  })

  it('outlives a rotation until the old key goes, the one without a version too', async () => {
    const zero = await new PreviewPasses(keys({ 0: 'zero' })).sign(ORIGIN, link, soon())
    const one = await new PreviewPasses(keys({ 0: 'zero', 1: 'one' })).sign(ORIGIN, link, soon())
    const under = (all: PassKeys) =>
      Promise.all([zero, one].map(async (pass) => (await new PreviewPasses(all).verify(ORIGIN, pass)) !== null))
    expect(await under(keys({ 0: 'zero', 1: 'one' }))).toEqual([true, true])
    expect(await under(keys({ 0: 'zero', 1: 'one' }, true))).toEqual([false, true])
    expect(await under(keys({ 0: 'zero', 2: 'two' }, true))).toEqual([false, false])
  })

  it('is none that another key, another service or nobody has signed', async () => {
    const passes = new PreviewPasses(keys({ 0: 'zero' }))
    const pass = await passes.sign(ORIGIN, link, soon())
    const [head = '', body = '', signature = ''] = pass.split('.')
    const other = encoded({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), link: randomUUID() })
    const none = encoded({ alg: 'none', kid: '0' })
    const strange = encoded({ alg: 'HS256', kid: '__proto__' })
    for (const wrong of ['', 'x', `${head}.${body}`, `${head}.${other}.${signature}`, `${none}.${body}.`]) {
      expect(await passes.verify(ORIGIN, wrong)).toBeNull()
    }
    expect(await passes.verify(ORIGIN, `${strange}.${body}.${signature}`)).toBeNull()
    expect(await new PreviewPasses(keys({ 0: 'other' })).verify(ORIGIN, pass)).toBeNull()
  })
})
