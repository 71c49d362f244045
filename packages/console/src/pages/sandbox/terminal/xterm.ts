import { FitAddon } from '@xterm/addon-fit'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'

/*
 * Everything that needs xterm.js, in a file of its own: the connection to a terminal is made while this one loads.
 */

const LIGHT: ITheme = {
  background: '#ffffff',
  foreground: '#172126',
  cursor: '#0b6b63',
  cursorAccent: '#ffffff',
  selectionBackground: '#b9e3dd',
  black: '#172126',
  red: '#b3261e',
  green: '#1b6e3c',
  yellow: '#7a5200',
  blue: '#1f5fae',
  magenta: '#8a3a9c',
  cyan: '#0b6b75',
  white: '#5f6b70',
  brightBlack: '#56636a',
  brightRed: '#c8372d',
  brightGreen: '#237d47',
  brightYellow: '#8b6000',
  brightBlue: '#2a6cc0',
  brightMagenta: '#9a48ac',
  brightCyan: '#0f7984',
  brightWhite: '#3c474c',
}

const DARK: ITheme = {
  background: '#10181c',
  foreground: '#e4ecee',
  cursor: '#5fd3c4',
  cursorAccent: '#10181c',
  selectionBackground: '#24504d',
  black: '#27343a',
  red: '#ff8a80',
  green: '#7fd99a',
  yellow: '#f0c668',
  blue: '#82b7ff',
  magenta: '#dfa0ee',
  cyan: '#6fd6dd',
  white: '#c9d4d7',
  brightBlack: '#8a9aa1',
  brightRed: '#ffa69e',
  brightGreen: '#9be8b2',
  brightYellow: '#f7d88c',
  brightBlue: '#a4cbff',
  brightMagenta: '#ebbcf5',
  brightCyan: '#93e5ea',
  brightWhite: '#ffffff',
}

const SCROLLBACK_LINES = 10_000
const MIN_CONTRAST = 4.5

export interface ScreenOptions {
  readonly isDark: boolean
  readonly fontSize: number
  readonly screenReader: boolean
}

/** A terminal's screen in an element. */
export class XtermScreen {
  readonly terminal: Terminal
  readonly #fit = new FitAddon()
  readonly #observer: ResizeObserver

  /** @param isReadOnly shows output only */
  constructor(element: HTMLElement, { isDark, fontSize, screenReader }: ScreenOptions, isReadOnly = false) {
    this.terminal = new Terminal({
      theme: isDark ? DARK : LIGHT,
      fontSize,
      screenReaderMode: screenReader,
      fontFamily: getComputedStyle(element).getPropertyValue('--font-mono') || 'monospace',
      scrollback: SCROLLBACK_LINES,
      minimumContrastRatio: MIN_CONTRAST,
      disableStdin: isReadOnly,
      cursorBlink: !isReadOnly,
      // The output of a command that has no terminal ends lines with LF only.
      convertEol: isReadOnly,
      linkHandler: { activate: (_event, uri) => openLink(uri) },
    })
    this.terminal.loadAddon(this.#fit)
    this.terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri)))
    this.terminal.open(element)
    this.fit()
    this.#observer = new ResizeObserver(() => this.fit())
    this.#observer.observe(element)
  }

  set(options: ScreenOptions): void {
    this.terminal.options.theme = options.isDark ? DARK : LIGHT
    this.terminal.options.fontSize = options.fontSize
    this.terminal.options.screenReaderMode = options.screenReader
    this.fit()
  }

  /** Fills the element. A hidden one has no size. */
  fit(): void {
    const { element } = this.terminal
    if (element !== undefined && element.offsetWidth > 0) this.#fit.fit()
  }

  get size(): { readonly rows: number; readonly cols: number } {
    const { rows, cols } = this.terminal
    return { rows, cols }
  }

  reset(): void {
    this.terminal.reset()
  }

  write(output: Uint8Array | string, done?: () => void): void {
    this.terminal.write(output, done)
  }

  dispose(): void {
    this.#observer.disconnect()
    this.terminal.dispose()
  }
}

/** Programs choose the link, so it opens elsewhere, and only if it is a web page. */
function openLink(uri: string): void {
  if (/^https?:\/\//i.test(uri)) window.open(uri, '_blank', 'noopener,noreferrer')
}
