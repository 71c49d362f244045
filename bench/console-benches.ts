/**
 * The console in headless Chromium without a GPU, which shares the machine with the VMs. So frames and paints are the
 * software's; a browser with a GPU on a machine of its own is faster.
 */
import { once } from 'node:events'
import { Offshoot as Client } from '@offshoot/sdk'
import { WebSocket } from 'ws'
import { hasBrowser } from '../tests/setup/browser.ts'
import { Console } from '../tests/setup/console.ts'
import { lineageOf } from '../tests/setup/lineage-of.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { hold } from './cleanup.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'

type Figures = Record<string, Figure>

const WAIT_MS = 20_000
/** What a shell of root asks with. */
const PROMPT = '#'

async function withConsole<T>(offshoot: Offshoot, use: (console: Console) => Promise<T>): Promise<T> {
  if (!hasBrowser) throw new Error('there is no Chromium')
  const browser = await Console.start(offshoot)
  const stop = hold(() => browser.stop())
  try {
    await browser.signIn()
    return await use(browser)
  } finally {
    await stop()
  }
}

/** Runs in the page: milliseconds from the request of the page to its first content. */
const FIRST_PAINT = `new Promise((resolve) => new PerformanceObserver((list) => {
  for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime)
}).observe({ type: 'paint', buffered: true }))`
/** Runs in the page: compressed bytes of all scripts so far. */
const SCRIPT_BYTES = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`

/**
 * From the request of the console's first page to its first content, by a browser that has cached nothing, and the
 * compressed JavaScript that it loads until it shows the list of sandboxes. Floor: a line of JSON.
 */
export async function consoleFirstPaint(offshoot: Offshoot, n = 20): Promise<Figures> {
  const [paint, plain, script] = [new Samples(), new Samples(), new Samples()]
  for (const _ of rounds(n)) {
    await withConsole(offshoot, async (browser) => {
      const { page } = browser
      await browser.goto('/sandboxes')
      paint.add(Number(await page.evaluate(FIRST_PAINT)))
      await page.getByRole('heading', { name: 'Sandboxes' }).first().waitFor({ timeout: WAIT_MS })
      script.add(Number(await page.evaluate(SCRIPT_BYTES)) / 1024)
      await browser.goto('/healthz')
      plain.add(Number(await page.evaluate(FIRST_PAINT)))
    })
  }
  return { console_first_paint_ms: paint.figure('ms', plain.p50), console_first_js_kib: script.figure('KiB') }
}

/** From the click on "Terminal" to the prompt of a new shell. Floor: from `exec/pty` to its prompt. */
export async function consoleTerminalPrompt(offshoot: Offshoot, n = 30): Promise<Figures> {
  const [shown, bare] = [new Samples(), new Samples()]
  await withConsole(offshoot, async (browser) => {
    for (const round of rounds(n)) {
      // A sandbox keeps its terminal, so each round needs a new one.
      await inSandbox(offshoot, async (id) => {
        const floor = await bare.time(() => firstPrompt(offshoot, id))
        await browser.goto(`/sandboxes/${id}/overview`)
        const link = browser.page.getByRole('link', { name: 'Terminal', exact: true })
        await link.waitFor({ timeout: WAIT_MS })
        const open = async () => {
          await link.click()
          await browser.page.locator('.xterm-rows').getByText(PROMPT).first().waitFor({ timeout: WAIT_MS })
        }
        // The first one also loads the terminal's script.
        if (round === 0 || floor === null) await open()
        else await shown.time(open)
      })
    }
  })
  return { console_terminal_prompt_ms: shown.figure('ms', bare.p50) }
}

async function firstPrompt({ credentials }: Offshoot, id: string): Promise<void> {
  const socket = new WebSocket(`${credentials.base_url.replace('http', 'ws')}/v1/sandboxes/${id}/exec/pty`, {
    headers: { authorization: `Bearer ${credentials.api_key}` },
  })
  const signal = AbortSignal.timeout(WAIT_MS)
  let text = ''
  while (!text.includes(PROMPT)) text += String((await once(socket, 'message', { signal }))[0])
  socket.terminate()
}

/** Runs in the page: resolves with the time at which the list shows this state. */
const shows = (state: string) => `new Promise((resolve) => {
  const look = () => document.querySelector('table')?.textContent.includes(${JSON.stringify(state)})
    ? resolve(performance.timeOrigin + performance.now()) : requestAnimationFrame(look)
  look()
})`

/** From a change through the API until the list of sandboxes shows it. Floor: until the event arrives at an SDK client. */
export async function consoleEventToPage(offshoot: Offshoot, n = 100): Promise<Figures> {
  const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
  const client = new Client({ baseUrl, apiKey })
  const [page, event] = [new Samples(), new Samples()]
  const leave = new AbortController()
  const release = hold(async () => leave.abort())
  let arrived: (() => void) | undefined
  const following = (async () => {
    for await (const { type } of client.events({ tail: 0, signal: leave.signal }))
      if (type === 'sandbox.paused' || type === 'sandbox.resumed') arrived?.()
  })().catch((error: unknown) => {
    if (!leave.signal.aborted) throw error
  })
  await withConsole(offshoot, (browser) =>
    inSandbox(offshoot, async (id) => {
      await browser.goto('/sandboxes')
      await browser.page.getByRole('cell', { name: 'running' }).waitFor({ timeout: WAIT_MS })
      for (const round of rounds(n)) {
        const [action, state] = round % 2 === 0 ? ['pause', 'paused'] : ['resume', 'running']
        const atClient = event.time(
          () =>
            new Promise<void>((resolve, reject) => {
              arrived = resolve
              setTimeout(() => reject(new Error('no event')), WAIT_MS).unref()
            }),
        )
        const atPage = browser.page.evaluate(shows(state))
        const startedAt = performance.timeOrigin + performance.now()
        await offshoot.request('POST', `/v1/sandboxes/${id}/${action}`)
        page.add(Number(await atPage) - startedAt)
        await atClient
      }
    }),
  )
  await release()
  await following
  return { console_event_to_page_ms: page.figure('ms', event.p50) }
}

/** Sandboxes of the lineage. */
const RELATIVES = 200
/** Runs in the page: counts frames until \`stopFrames()\` returns how many there were a second. */
const COUNT_FRAMES = `(() => {
  let frames = 0
  const startedAt = performance.now()
  const next = () => { frames += 1; handle = requestAnimationFrame(next) }
  let handle = requestAnimationFrame(next)
  globalThis.stopFrames = () => {
    cancelAnimationFrame(handle)
    return (frames * 1000) / (performance.now() - startedAt)
  }
})()`
const MOVES = 60
const IDLE_MS = 1000

/**
 * Frames a second of a lineage of 200 sandboxes while it is panned and zoomed. The sandboxes are an answer that the
 * browser gets instead of the service's. Floor: the same page while nothing moves.
 */
export async function lineageFrames(offshoot: Offshoot, n = 12): Promise<Figures> {
  const [moving, still] = [new Samples(), new Samples()]
  await withConsole(offshoot, (browser) =>
    inSandbox(offshoot, async (id) => {
      const { page } = browser
      await page.route('**/v1/sandboxes/*/lineage', (route) => route.fulfill({ json: lineageOf(id, RELATIVES) }))
      await browser.goto(`/sandboxes/${id}/lineage`)
      const picture = page.getByRole('application', { name: 'Lineage' })
      await picture.getByRole('group', { name: /fork 199, running/ }).waitFor({ timeout: WAIT_MS })
      const box = await picture.boundingBox()
      if (box === null) throw new Error('the lineage is not shown')
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
      for (const _ of rounds(n)) {
        await page.evaluate(COUNT_FRAMES)
        await page.waitForTimeout(IDLE_MS)
        still.add(Number(await page.evaluate('stopFrames()')))
        await page.evaluate(COUNT_FRAMES)
        for (const direction of [-1, 1]) {
          for (let i = 0; i < MOVES / 4; i++) await page.mouse.wheel(0, direction * 40)
          await page.mouse.move(x, y - 40)
          await page.mouse.down()
          await page.mouse.move(x + direction * 200, y + direction * 60, { steps: MOVES })
          await page.mouse.up()
        }
        moving.add(Number(await page.evaluate('stopFrames()')))
      }
    }),
  )
  return { lineage_200_fps: moving.figure('1/s', still.p50) }
}
