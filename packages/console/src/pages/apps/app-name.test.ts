import { expect, it } from 'vitest'
import { appNameOf } from './app-name.ts'

it('takes the last part of the address', () => {
  expect(
    ['https://git.example/people/My Site.git', 'https://git.example/a/b/', ' ', 'https://x/_y'].map(appNameOf),
  ).toEqual(['My-Site', 'b', '', 'y'])
})
