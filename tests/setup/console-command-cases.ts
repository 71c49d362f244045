import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import { HOSTILE, LONG_LINE, type SandboxWorld } from './console-terminal-cases.ts'

/** The tab with commands that run on their own. */
export function commandCases(worldOf: () => SandboxWorld): void {
  const page = () => worldOf().console.page
  const button = (name: string) => page().getByRole('button', { name, exact: true })
  const output = () => page().getByRole('region', { name: 'Output' })
  const shows = async (text: string | RegExp) => output().locator('.xterm-rows').filter({ hasText: text }).waitFor()
  const says = async (state: string) => output().getByRole('status').getByText(state, { exact: true }).waitFor()
  const listed = (name: RegExp) => page().getByRole('region', { name: 'Commands' }).getByRole('button', { name })
  const run = async (line: string) => {
    await page().getByRole('textbox', { name: 'Command', exact: true }).fill(line)
    await page().keyboard.press('Enter')
    await output().getByText(line, { exact: true }).waitFor()
  }

  it('runs a command, gives it input, and shows how it ended', async () => {
    const { console, id } = worldOf()
    await console.goto(`/sandboxes/${id}/commands`)
    await page().getByText('Nothing was started yet.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page().getByLabel('Keep its input open').check()
    await run(`echo begun; read line; echo "got $line"; exit 3`)
    await says('running')
    await shows('begun')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page().getByLabel('Input for the command').fill('tea')
    await page().keyboard.press('Enter')
    await says('exit code 3')
    await shows('got tea')
    await listed(/read line.*exit 3/).waitFor()
    expect(console.problems).toEqual([])
  })

  it('shows colours, and everything else as text', async () => {
    await page().getByLabel('Keep its input open').uncheck()
    await run(`${HOSTILE}; ${LONG_LINE}; echo the end`)
    await says('exit code 0')
    await shows('the end')
    await run(HOSTILE)
    await output().locator('.xterm-fg-1').filter({ hasText: 'red' }).waitFor()
    await shows('<script>document.title="taken"</script>')
    expect(await page().title()).toBe('journey · Offshoot')
    expect(worldOf().console.problems).toEqual([])
  })

  it('keeps commands and their output over a reload, and sends signals', async () => {
    await run('echo sleeping; exec sleep 1000')
    await says('running')
    await page().reload()
    await says('running')
    await shows('sleeping')
    await button('Send a signal').click()
    await page().getByRole('menuitem', { name: 'SIGTERM' }).click()
    await says('exit code 143')
    await listed(/read line.*exit 3/).click()
    await shows('got tea')
    await button('Forget').click()
    await page().getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
    await page().getByRole('heading', { name: 'No command is chosen' }).waitFor()
    await listed(/read line.*exit 3/).waitFor({ state: 'detached' })
    expect(worldOf().console.problems).toEqual([])
  })

  it('says why a command could not start', async () => {
    await page().getByLabel('Folder').fill('/no/such')
    await page().getByRole('textbox', { name: 'Command', exact: true }).fill('true')
    await page().keyboard.press('Enter')
    await page().getByRole('alert').filter({ hasText: '/no/such' }).waitFor()
    expect(await flawsOf(worldOf().console)).toEqual(NO_FLAWS)
  })
}
