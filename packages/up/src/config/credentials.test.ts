import { describe, expect, it } from 'vitest'
import { joinCredentials } from './credentials.ts'

const made = { api_key: 'ofs_new', jwt: 'j2', email: 'a@b', password: 'p2' }
const again = { api_key: null, jwt: 'j3', email: 'a@b', password: null }
const kept = { base_url: 'http://old', api_key: 'ofs_old', jwt: 'j1', email: 'a@b', password: 'p1' }

describe('joinCredentials', () => {
  it('takes what has just been made', () => {
    expect(joinCredentials('http://x', made, null)).toEqual({ base_url: 'http://x', ...made })
  })

  it('keeps the earlier secrets beside a fresh token', () => {
    expect(joinCredentials('http://x', again, kept)).toEqual({ ...kept, base_url: 'http://x', jwt: 'j3' })
  })

  it('has none when the file was lost, or is of another user', () => {
    expect(joinCredentials('http://x', again, null)).toBeNull()
    expect(joinCredentials('http://x', again, { ...kept, email: 'c@d' })).toBeNull()
  })
})
