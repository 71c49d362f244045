import { copyText } from '../../../ui/copy-button.tsx'
import { type ConnectionState, SessionConnection } from './session-connection.ts'
import type { ScreenOptions, XtermScreen } from './xterm.ts'

interface LiveTerminalOptions {
  readonly address: (size: { readonly rows: number; readonly cols: number }) => Promise<string>
  readonly onState: (state: ConnectionState) => void
  /** The user pressed the keys that leave the terminal. */
  readonly onLeave: () => void
}

/** Of a usual monospaced font, until the screen has measured its own. */
const WIDTH_PER_SIZE = 0.6
const HEIGHT_PER_SIZE = 1.2

/** The connection to a terminal and its screen. The screen is loaded while the connection is made. */
export class LiveTerminal {
  readonly #connection: SessionConnection
  #state: ConnectionState = { is: 'connecting' }
  #screen: XtermScreen | null = null
  #options: ScreenOptions
  #wantsFocus = false
  #isDisposed = false

  constructor(element: HTMLElement, options: ScreenOptions, { address, onState, onLeave }: LiveTerminalOptions) {
    this.#options = options
    const { clientWidth, clientHeight } = element
    const size = {
      cols: Math.max(Math.floor(clientWidth / (options.fontSize * WIDTH_PER_SIZE)), 20),
      rows: Math.max(Math.floor(clientHeight / (options.fontSize * HEIGHT_PER_SIZE)), 5),
    }
    this.#connection = new SessionConnection(size, {
      address,
      onState: (state) => {
        this.#state = state
        onState(state)
      },
    })
    void this.#load(element, onLeave)
  }

  async #load(element: HTMLElement, onLeave: () => void): Promise<void> {
    const { XtermScreen: Screen } = await import('./xterm.ts')
    if (!this.#isDisposed) this.#show(new Screen(element, this.#options), onLeave)
  }

  #show(screen: XtermScreen, onLeave: () => void): void {
    this.#screen = screen
    const { terminal } = screen
    terminal.onData((text) => {
      if (this.#state.is !== 'exited') this.#connection.type(text)
      else if (text === '\r') this.again()
    })
    terminal.onBinary((text) => this.#connection.type(text))
    terminal.onResize((size) => this.#connection.resize(size))
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== 'keydown') return true
      const isLeaving = event.ctrlKey && (event.key === 'F6' || (event.shiftKey && event.key === 'Escape'))
      if (isLeaving) onLeave()
      const isCopy = event.ctrlKey && event.code === 'KeyC' && (event.shiftKey || terminal.hasSelection())
      if (isCopy) this.#copy()
      // The browser pastes into the terminal.
      const isPaste = event.ctrlKey && event.shiftKey && event.code === 'KeyV'
      if (isLeaving || isCopy) event.preventDefault()
      return !isLeaving && !isCopy && !isPaste
    })
    this.#connection.resize(screen.size)
    this.#connection.attach(screen)
    if (this.#wantsFocus) terminal.focus()
  }

  #copy(): void {
    const terminal = this.#screen?.terminal
    const text = terminal?.getSelection() ?? ''
    if (text !== '') void copyText(text)
    terminal?.clearSelection()
    terminal?.focus()
  }

  set(options: ScreenOptions): void {
    this.#options = options
    this.#screen?.set(options)
  }

  focus(): void {
    this.#wantsFocus = true
    this.#screen?.terminal.focus()
  }

  /** Connects again now, or starts the program again. */
  again(): void {
    this.#connection.again()
    this.focus()
  }

  dispose(): void {
    this.#isDisposed = true
    this.#connection.end()
    this.#screen?.dispose()
  }
}
