/** The version of the program, as in `package.json`. Reading that file would slow down the start. */
export const VERSION = '0.1.0'
