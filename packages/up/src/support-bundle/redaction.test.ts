import { expect, it } from 'vitest'
import { Redaction, secretsIn } from './redaction.ts'

const bytes = Buffer.from('0123456789abcdef0123456789abcdef')
const redaction = new Redaction([`${bytes.toString('base64')}\n`, 'hunter2hunter2', 'hunter2'])

it.each([
  ['the secret in base64', bytes.toString('base64'), bytes.toString('base64')],
  ['the secret in base64url', bytes.toString('base64url'), bytes.toString('base64url')],
  ['the secret in hex', bytes.toString('hex').toUpperCase(), bytes.toString('hex').toUpperCase()],
  ['a secret that begins with another one', 'is hunter2hunter2!', 'hunter2'],
  ['an API key', 'key ofs_AbCdEfGh_0123456789ABCDEFGHIJ refused', '0123456789ABCDEFGHIJ'],
  ['a key of an operator', 'ofs_op_AbCdEfGh_0123456789ABCDEFGHIJ', '0123456789ABCDEFGHIJ'],
  ['a key of E2B', `e2b_${'ab'.repeat(20)}`, 'abababab'],
  ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def', 'eyJzdWIi'],
  ['a secret of a webhook', 'whsec_c2VjcmV0c2VjcmV0', 'c2VjcmV0'],
  ['a bearer', 'authorization: Bearer abc.def', 'abc.def'],
  ['a password in a URL', 'postgres://user:pa55word@db/x', 'pa55word'],
  ['a query of a URL', 'GET /v1/x?token=abcdef&code=123456', '123456'],
  ['a link that signs in', 'http://127.0.0.1/sign-in#abcdef', 'abcdef'],
  ['an address of a mail', 'mail to eve@example.com', 'eve@'],
  ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', 'MIIE'],
  ['half of a private key', '-----BEGIN PRIVATE KEY-----\\nMIIE', 'MIIE'],
  ['a variable', 'DB_PASSWORD="a b c" other', 'a b c'],
])('removes %s', (_what, text, secret) => {
  expect(text).toContain(secret)
  expect(redaction.text(text)).not.toContain(secret)
  expect(redaction.text(text)).toContain('(removed)')
})

it('keeps what helps', () => {
  const line =
    '{"level":50,"time":1,"msg":"agent http://127.0.0.1:4000 does not answer","id":"0b7e1c1e-5d5b-4d1e-8f6e-2f6c2d1f6a11"}'
  expect(redaction.logLine(line)).toBe(line)
  expect(redaction.text('2030-01-01 00:00:00.000 UTC [12] LOG:  checkpoint complete')).toContain('checkpoint complete')
})

it('removes the fields of a log that tenants fill, at any depth', () => {
  const line = JSON.stringify({
    level: 30,
    req: { id: 7, body: { a: 'x1' }, env: { A: 'x2' } },
    cmd: ['x3'],
    msg: 'ok',
  })
  expect(JSON.parse(redaction.logLine(line))).toEqual({
    level: 30,
    req: { id: 7, body: '(removed)', env: '(removed)' },
    cmd: '(removed)',
    msg: 'ok',
  })
})

it('finds the secrets of a configuration', () => {
  const configuration = { port: 1, mail: { smtp: { password: 'a', host: 'b' } }, agents: [{ url: 'c', secret: 'd' }] }
  expect(secretsIn(configuration)).toEqual(['a', 'd'])
  expect(redaction.json(configuration)).toMatchObject({
    port: 1,
    mail: { smtp: { password: '(removed)', host: 'b' } },
    agents: [{ url: 'c', secret: '(removed)' }],
  })
})
