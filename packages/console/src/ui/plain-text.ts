/** CSI and OSC sequences, and other escapes of terminals. */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\-_])/g
/** What would show as nothing or as a box. Tabs and line ends stay. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F]/g

/** The characters of a terminal's output without its colours and movements. */
export function plainText(output: string): string {
  return output.replace(ESCAPES, '').replace(CONTROLS, '')
}
