import { withinBudget } from '@offshoot/kit/test/within-budget'
import { describe, expect, it } from 'vitest'
import { isOfRepository } from './push-event.ts'

const URL = 'https://git.example.com/alice/app'
const repository = (url: string) => ({ clone_url: url, html_url: URL })

describe('isOfRepository', () => {
  it.each([URL, `${URL}.git`, `${URL}/`, `${URL}.git//`, 'http://alice:secret@GIT.example.com/Alice/app.git'])(
    'takes %s for the same repository',
    (url) => {
      expect(isOfRepository(repository(`${URL}.git`), url)).toBe(true)
    },
  )

  it.each([`${URL}2`, `${URL}/.git`, `${URL}.git.git`, ''])('takes %j for another repository', (url) => {
    expect(isOfRepository(repository(`${URL}.git`), url)).toBe(false)
  })

  it('compares an address of a megabyte of slashes in linear time', () => {
    const slashes = '/'.repeat(1024 * 1024)
    expect(withinBudget(() => isOfRepository(repository(`https://x${slashes}x`), URL))).toBe(true)
  })
})
