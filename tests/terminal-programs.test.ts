/** @module-tag long */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

/** Interactive programs on a real terminal, in one sandbox of the `base` template. */
let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create({ template: 'base' })).id
})
afterAll(giveBack)

const open = async (query = '') => TestSocket.open(offshoot, `/v1/sandboxes/${id}/exec/pty${query}`)
const command = (cmd: string, more = '') => `?cmd=${encodeURIComponent(cmd)}${more}`
const type = (socket: TestSocket, text: string) => socket.send(Buffer.from(text))
const output = async (cmd: string) => (await offshoot.exec(id, cmd)).stdout.trim()
const sleepState = async () => output('ps -o stat= -C sleep || true')
const CTRL_B = '\u0002'
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const CTRL_Z = '\u001a'
/** Vim shows the cursor after the `~` rows, and then reads input. */
const VIM_DRAWN = /~[^]*\[\?25h/
/** Ctrl-\ Ctrl-N. Unlike Escape, it cannot be the beginning of a longer sequence. */
const VIM_NORMAL_MODE = '\u001c\u000e'
/** Text was drawn in this row. */
const inRow = (row: number) => new RegExp(String.raw`\[${row};`)

describe('a terminal', () => {
  it('has vim, whose window grows with it', async () => {
    const vim = await open(command('vim /tmp/note', '&rows=20&cols=60'))
    await vim.shows(VIM_DRAWN)
    type(vim, 'ihallo grüße ✓')
    await vim.shows('hallo gr')
    type(vim, VIM_NORMAL_MODE)
    vim.send({ resize: { rows: 31, cols: 91 } })
    await vim.shows(inRow(31))
    type(vim, ':set lines? columns?\r')
    await vim.shows('lines=31')
    await vim.shows('columns=91')
    type(vim, '\r:wq\r')
    expect(await vim.hungUp()).toEqual({ code: 1000, reason: '' })
    expect(vim.frames).toEqual([{ exit: 0 }])
    expect(await output('cat /tmp/note')).toBe('hallo grüße ✓')
  })

  it('has top, which goes on by itself', async () => {
    const top = await open(command('top -d 0.2', '&rows=30&cols=100'))
    await top.shows(/load average/)
    await until('it to be drawn again', () => top.bytes.toString().split('load average').length > 3)
    type(top, 'q')
    await top.hungUp()
    expect(top.frames).toEqual([{ exit: 0 }])
  })

  it('has tmux: panes, the size of its window, detach, and a server that outlives the caller', async () => {
    const first = await open(command('tmux new-session -s main', '&rows=24&cols=80'))
    await first.shows(/\[main\]/)
    type(first, 'echo "mark $((40 + 2))"\r')
    await first.shows('mark 42')
    type(first, `${CTRL_B}"`)
    await until('two panes', async () => (await output('tmux list-panes -t main | wc -l')) === '2')
    first.send({ resize: { rows: 40, cols: 120 } })
    const size = "tmux list-clients -F '#{client_width}x#{client_height}'"
    await until('the new size', async () => (await output(size)) === '120x40')
    type(first, `${CTRL_B}d`)
    await first.shows('detached')
    await first.hungUp()
    expect(first.frames).toEqual([{ exit: 0 }])

    const second = await open(command('tmux attach -t main', '&rows=24&cols=80'))
    await second.shows('mark 42')
    second.socket.terminate()
    await until('the caller to be gone', async () => (await output('tmux list-clients')) === '')
    expect(await output('tmux list-panes -t main | wc -l')).toBe('2')
    await offshoot.exec(id, 'tmux kill-server')
  })

  it('has job control: Ctrl-Z, jobs, bg, fg, Ctrl-C, Ctrl-D', async () => {
    const shell = await open()
    type(shell, 'sleep 1000\n')
    await until('sleep in the foreground', async () => /^S.*\+$/.test(await sleepState()))
    type(shell, CTRL_Z)
    await shell.shows(/\[1\]\+\s+Stopped\s+sleep 1000/)
    expect(await sleepState()).toMatch(/^T/)
    type(shell, 'bg\n')
    await until('sleep in the background', async () => /^S[^+]*$/.test(await sleepState()))
    type(shell, 'fg\n')
    await until('sleep in the foreground again', async () => /^S.*\+$/.test(await sleepState()))
    type(shell, CTRL_C)
    await until('sleep to end', async () => (await sleepState()) === '')
    type(shell, 'echo "last $?"\n')
    await shell.shows(/last 130\r\n/)
    type(shell, CTRL_D)
    await shell.hungUp()
    expect(shell.frames).toEqual([{ exit: 0 }])
  })

  it('takes UTF-8 that is cut anywhere, and erases it by characters', async () => {
    const text = 'grüße 漢字 🎉 ende'
    const cat = await open(command('echo ready; exec cat'))
    await cat.shows('ready\r\n')
    for (const byte of Buffer.from(`${text}\n`)) cat.send(Buffer.of(byte))
    await cat.shows(`${text}\r\n${text}\r\n`)
    type(cat, 'aü漢\u007f\u007fb\n')
    await cat.shows(/\r\nab\r\n/)
    type(cat, CTRL_D)
    await cat.hungUp()
    expect(cat.frames).toEqual([{ exit: 0 }])
  })

  it('gives characters that a program writes byte by byte as whole as it wrote them', async () => {
    const text = 'ö€😀'.repeat(50)
    const program = `import os\nfor b in "${text}".encode(): os.write(1, bytes([b]))`
    await offshoot.exec(id, 'cat > /tmp/bytes.py', { stdin: program })
    const socket = await open(command('python3 /tmp/bytes.py'))
    await socket.hungUp()
    expect(socket.bytes.toString()).toBe(text)
  })
})

describe('a session', () => {
  it('shows who comes back the last 256 KiB, however much there was', async () => {
    const cmd = 'stty -echo; seq 1 60000; echo at the end; read line'
    const first = await open(command(cmd, '&session=long'))
    await first.shows('at the end\r\n')
    const whole = first.bytes.toString()
    expect(whole.length).toBeGreaterThan(300_000)
    first.socket.terminate()
    const second = await open('?session=long')
    await second.shows('at the end\r\n')
    const shown = second.bytes.toString()
    expect(whole.endsWith(shown)).toBe(true)
    expect(shown.length).toBeGreaterThan(250 * 1024)
    expect(shown.length).toBeLessThanOrEqual(256 * 1024)
    type(second, '\n')
    await second.hungUp()
    expect(second.frames).toEqual([{ exit: 0 }])
  })

  it('is one screen for two callers, with the size that was sent last', async () => {
    const one = await open('?session=pair&rows=24&cols=80')
    type(one, 'exec vim /tmp/pair\n')
    await one.shows(VIM_DRAWN)
    const other = await open('?session=pair&rows=30&cols=100')
    for (const each of [one, other]) await each.shows(inRow(30))
    type(other, ':!stty size\r')
    for (const each of [one, other]) await each.shows('30 100\r\n')
    type(other, '\r')
    one.send({ resize: { rows: 36, cols: 110 } })
    for (const each of [one, other]) await each.shows(inRow(36))
    type(one, ':!stty size\r')
    for (const each of [one, other]) await each.shows('36 110\r\n')
    other.socket.terminate()
    type(one, '\r:q!\r')
    await one.hungUp()
    expect(one.frames).toEqual([{ exit: 0 }])
  })
})
