import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { SandboxWorld } from './console-terminal-cases.ts'
import { until } from './until.ts'

/** The tabs with files and their changes. */
export function fileCases(worldOf: () => SandboxWorld): void {
  const page = () => worldOf().console.page
  const exec = async (cmd: string) => (await worldOf().offshoot.exec(worldOf().id, cmd)).stdout
  const button = (name: string) => page().getByRole('button', { name, exact: true })
  const inDialog = (name: string) => page().getByRole('dialog').getByRole('button', { name, exact: true })
  const heading = (name: string) => page().getByRole('heading', { name, exact: true })
  const item = (name: string) => page().getByRole('treeitem', { name, exact: true })
  const path = () => page().getByRole('textbox', { name: 'Path', exact: true })
  const goTo = async (folder: string) => {
    await path().fill(folder)
    await path().press('Enter')
    await heading(folder).waitFor()
  }
  const editor = (path: string) => page().getByRole('textbox', { name: `Content of ${path}` })

  it('makes a file, edits it and saves it', async () => {
    const { console, id } = worldOf()
    await console.goto(`/sandboxes/${id}/files?path=/home/user`)
    await heading('This folder is empty').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await console.goto(`/sandboxes/${id}/files`)
    await heading('/root').waitFor()
    await button('New file').click()
    await page().getByLabel('Name').fill('notes.md')
    await inDialog('Create').click()
    await editor('/root/notes.md').click()
    await page().keyboard.type('# first line')
    await page().getByText('not saved').waitFor()
    await page().keyboard.press('Control+s')
    await page().getByText('Saved', { exact: true }).waitFor()
    expect(await exec('cat /root/notes.md')).toBe('# first line')
    await page().getByRole('treeitem', { name: 'notes.md', selected: true }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('tells that the file changed while it is edited, and loses nothing unasked', async () => {
    await editor('/root/notes.md').click()
    await page().keyboard.press('Control+End')
    await page().keyboard.type(' of mine')
    await exec('echo outside >/root/notes.md')
    const alert = page().getByRole('alert').filter({ hasText: 'The file has changed in the sandbox' })
    await alert.waitFor()
    expect(await flawsOf(worldOf().console)).toEqual(NO_FLAWS)
    await editor('/root/notes.md').filter({ hasText: '# first line of mine' }).waitFor()
    await button('Load it and lose mine').click()
    await editor('/root/notes.md').filter({ hasText: 'outside' }).waitFor()
    await alert.waitFor({ state: 'hidden' })
    expect(worldOf().console.problems).toEqual([])
  })

  it('goes through the tree by keyboard, and shows strange names as text', async () => {
    await exec(`mkdir -p /root/inner && touch "/root/inner/<img src=x> $(printf '\\342\\200\\256')gnp.exe"`)
    const tree = page().getByRole('tree', { name: 'Files' })
    await item('inner').waitFor()
    await tree.focus()
    await page().keyboard.press('ArrowUp')
    await page().keyboard.press('ArrowRight')
    await item('<img src=x> \u202Egnp.exe').waitFor()
    await page().keyboard.press('ArrowDown')
    await page().keyboard.press('Enter')
    await heading('/root/inner/<img src=x> \u202Egnp.exe').waitFor()
    await path().fill('/no/such')
    await path().press('Enter')
    await page().getByRole('alert').getByText('There is no /no/such.').waitFor()
    expect(await flawsOf(worldOf().console)).toEqual(NO_FLAWS)
  })

  it('uploads what is dropped: files, and folders with what is in them', async () => {
    await goTo('/root')
    const folder = join(tmpdir(), `offshoot-drop-${randomUUID()}`)
    await mkdir(join(folder, 'site/deep'), { recursive: true })
    await writeFile(join(folder, 'site/deep/page.txt'), 'deep')
    await writeFile(join(folder, 'one.bin'), Buffer.from([0, 1, 2, 255]))
    await drop(button('New file'), [join(folder, 'site'), join(folder, 'one.bin')])
    await page().getByText('Uploaded 2 files').waitFor()
    await rm(folder, { recursive: true })
    expect(await exec('cat /root/site/deep/page.txt')).toBe('deep')
    await page().getByRole('table', { name: 'Content of /root' }).getByRole('button', { name: 'site/' }).waitFor()
    await item('one.bin').click()
    await heading('This is not text').waitFor()
    const [download] = await Promise.all([page().waitForEvent('download'), button('Download').click()])
    expect(download.suggestedFilename()).toBe('one.bin')
    expect([...(await readFile(await download.path()))]).toEqual([0, 1, 2, 255])
    expect(worldOf().console.problems).toEqual([])
  })

  /** Drops files of the machine, as a file manager does. */
  async function drop(target: Locator, files: readonly string[]): Promise<void> {
    const { x = 0, y = 0 } = (await target.boundingBox()) ?? {}
    const session = await worldOf().console.context.newCDPSession(page())
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      const data = { items: [], files: [...files], dragOperationsMask: 1 }
      await session.send('Input.dispatchDragEvent', { type, x, y, data })
    }
    await session.detach()
  }

  it('uploads what another page made and the user drops here', async () => {
    await goTo('/root')
    const made = await page().evaluateHandle(`(() => {
      const data = new DataTransfer()
      data.items.add(new File(['made'], 'made.txt'))
      return data
    })()`)
    await heading('/root').dispatchEvent('drop', { dataTransfer: made })
    await page().getByText('Uploaded one file').waitFor()
    expect(await exec('cat /root/made.txt')).toBe('made')
  })

  it('renames a file, and deletes it', async () => {
    await item('made.txt').click()
    await button('Rename or move').click()
    await page().getByLabel('New path').fill('/root/renamed.txt')
    await inDialog('Move').click()
    await heading('/root/renamed.txt').waitFor()
    await button('Delete').click()
    await inDialog('Delete').click()
    await heading('/root').waitFor()
    await item('renamed.txt').waitFor({ state: 'detached' })
    expect(await exec('ls /root')).toBe('inner\nnotes.md\none.bin\nsite\n')
    expect(worldOf().console.problems).toEqual([])
  })

  it('shows what differs from the snapshot that a sandbox came of', async () => {
    const { console, offshoot, id } = worldOf()
    const { body: snapshot } = await offshoot.request('POST', `/v1/sandboxes/${id}/snapshots`)
    const child = await offshoot.create({
      template: 'minimal',
      from_snapshot: snapshot.id,
      metadata: { name: 'child' },
    })
    await offshoot.exec(child.id, 'echo more >>/root/notes.md; rm /root/one.bin; echo "<b>" >/root/new')
    await console.goto(`/sandboxes/${child.id}/changes?path=/root`)
    await button('Compare with the snapshot').click()
    const differences = page().getByRole('table', { name: '3 differences' })
    await differences.getByRole('row', { name: /removed.*one\.bin/ }).waitFor()
    await differences.getByRole('row', { name: /added.*new/ }).waitFor()
    await differences.getByRole('button', { name: '/root/notes.md' }).click()
    await page().getByRole('textbox', { name: 'After' }).getByText('more').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const names = async () => {
      const { body } = await offshoot.request('GET', '/v1/sandboxes')
      return (body as { metadata: { name?: string } }[]).map(({ metadata }) => metadata.name ?? '').toSorted()
    }
    expect(await names()).toEqual(['child', `comparison with ${child.id.slice(0, 8)}`, 'journey'])
    await page().getByRole('link', { name: 'To the files' }).click()
    await heading('/root').waitFor()
    await until('the sandbox of the comparison to go', async () => (await names()).length === 2)
    await offshoot.delete(child.id)
    await page().getByRole('alert').getByText('Not found').waitFor()
    expect(console.problems).toEqual([])
  })
}
