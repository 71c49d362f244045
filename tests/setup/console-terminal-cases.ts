import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'

export interface SandboxWorld extends ConsoleWorld {
  /** A running sandbox of the template `minimal`. */
  readonly id: string
}

/** Colours, a title, markup, and characters that turn the direction of text. */
export const HOSTILE = String.raw`printf '\033[31mred\033[0m <script>document.title="taken"</script> \342\200\256gnp.exe\033]0;taken\007\n'`
/** One line of 100 KiB. */
export const LONG_LINE = String.raw`head -c 102400 /dev/zero | tr '\0' x; echo`

/** The tab with terminals. */
export function terminalCases(worldOf: () => SandboxWorld): void {
  const page = () => worldOf().console.page
  const screen = () => page().getByRole('tabpanel').locator('.xterm-rows')
  const shows = async (text: string | RegExp) => screen().filter({ hasText: text }).waitFor()
  const type = async (line: string) => page().keyboard.type(`${line}\n`)
  const tab = (name: string) => page().getByRole('tab', { name })
  const shownTab = (name: string) => page().getByRole('tab', { name, selected: true })

  it('has a prompt, and runs what is typed', async () => {
    const { console, id } = worldOf()
    await console.goto(`/sandboxes/${id}`)
    await shows('#')
    await type(`echo he''llo $((6 * 7))`)
    await shows('hello 42')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('shows colours, and everything else as text', async () => {
    await type(HOSTILE)
    await screen().locator('.xterm-fg-1').filter({ hasText: 'red' }).waitFor()
    await shows('<script>document.title="taken"</script>')
    await type(`${LONG_LINE}; echo '<en''d>'`)
    await shows('<end>')
    expect(await page().title()).toBe('journey · Offshoot')
    expect(worldOf().console.problems).toEqual([])
  })

  it('has several tabs, which come back with their screens after a reload', async () => {
    await page().getByRole('button', { name: 'New terminal' }).click()
    await shownTab('Terminal 2').waitFor()
    await shows('#')
    await type(`second=2; echo '<sec''ond>'`)
    await shows('<second>')
    await page().reload()
    await shownTab('Terminal 2').waitFor()
    await shows('<second>')
    await type('echo [$second]')
    await shows('[2]')
    await page().keyboard.press('Control+F6')
    await page().keyboard.press('ArrowLeft')
    await page().keyboard.press('Enter')
    await shownTab('Terminal 1').waitFor()
    await shows('<end>')
    expect(worldOf().console.problems).toEqual([])
  })

  it('says how a program ended, and starts another one', async () => {
    await tab('Terminal 2').click()
    await shows('[2]')
    await type('exit 3')
    const ended = page().getByRole('status').getByText('Ended with exit code 3.')
    await ended.waitFor()
    expect(await flawsOf(worldOf().console)).toEqual(NO_FLAWS)
    await page().getByRole('button', { name: 'Start again' }).click()
    await ended.waitFor({ state: 'hidden' })
    await screen().filter({ hasText: '#', hasNotText: '[2]' }).waitFor()
    await page().getByRole('button', { name: 'Close Terminal 2. Its programs go on' }).click()
    await tab('Terminal 2').waitFor({ state: 'detached' })
    await shownTab('Terminal 1').waitFor()
    expect(worldOf().console.problems).toEqual([])
  })

  it.each(['control', 'agent'] as const)(
    'connects again by itself after a kill of %s, and goes on',
    async (service) => {
      const { offshoot, console } = worldOf()
      await type(`kept=${service}`)
      const lost = page().getByRole('tabpanel').getByText('The connection is lost')
      await Promise.all([lost.waitFor(), offshoot.killService(service)])
      await lost.waitFor({ state: 'hidden' })
      await type('echo [$kept]')
      await shows(`[${service}]`)
      expect(console.problems).toEqual([])
    },
  )
}
