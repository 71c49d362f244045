import { z } from 'zod'

/** Signals that a caller may send, by their Linux names. */
export const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGABRT',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGWINCH',
] as const

/** One of {@link SIGNALS}; the refusal lists all of them. */
export const signalName = z.enum(SIGNALS, {
  error: ({ input }) => (input === undefined ? 'signal required' : `signal must be one of ${SIGNALS.join(', ')}`),
})
