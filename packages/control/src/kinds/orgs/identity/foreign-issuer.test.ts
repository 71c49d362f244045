import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, jwtVerify, SignJWT, type CryptoKey } from 'jose'
import { Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ForeignIssuer } from './foreign-issuer.ts'

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000)

describe('the keys of an issuer', () => {
  let server: Server
  let asked: number
  /** The issuer answers 200, 500, or closes the connection. */
  let answer: 'keys' | 'error' | 'cut'
  let issuer: ForeignIssuer
  let privateKey: CryptoKey
  const pool = new Pool()

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    asked = 0
    answer = 'keys'
    const pair = await generateKeyPair('RS256')
    ;({ privateKey } = pair)
    const key = { ...(await exportJWK(pair.publicKey)), kid: 'theirs', alg: 'RS256' }
    server = createServer((_request, response) => {
      asked += 1
      if (answer === 'cut') response.destroy()
      else response.writeHead(answer === 'keys' ? 200 : 500).end(JSON.stringify({ keys: [key] }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    issuer = new ForeignIssuer(
      {
        issuer: 'https://login.example.com/',
        audience: 'sandboxes',
        jwks_url: `http://127.0.0.1:${port}/jwks`,
        is_believed_about_email: false,
      },
      pool,
    )
  })

  afterEach(() => {
    vi.useRealTimers()
    server.closeAllConnections()
    server.close()
  })

  const verify = async (kid: string): Promise<string> => {
    const token = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey)
    return jwtVerify(token, issuer.key).then(
      () => 'valid',
      ({ code, message }: { code?: string; message: string }) => code ?? message,
    )
  }

  it.each(['error', 'cut'] as const)(
    'are fetched once in 30 s because of unknown ids, also if that fails (%s)',
    async (failure) => {
      expect(await verify('theirs')).toBe('valid')
      answer = failure
      for (const round of [1, 2]) {
        pass(31)
        const results = await Promise.all(Array.from({ length: 5 }, (_, index) => verify(`invented-${index}`)))
        expect(new Set([...results, await verify('invented')])).toEqual(new Set(['ERR_JWKS_NO_MATCHING_KEY']))
        expect(await verify('theirs')).toBe('valid')
        expect(asked).toBe(1 + round)
      }
    },
  )

  it('are fetched again when they are old, although a fetch has just failed', async () => {
    expect(await verify('theirs')).toBe('valid')
    pass(595)
    answer = 'error'
    expect(await verify('invented')).toBe('ERR_JWKS_NO_MATCHING_KEY')
    pass(10)
    answer = 'keys'
    expect(await verify('theirs')).toBe('valid')
    expect(asked).toBe(3)
  })
})
