/** Where the code of the program begins: after the headers of an ELF file with one segment. */
const CODE_AT = 120
const ADDRESS = 0x40_0000n
/** mov edi, CODE; mov eax, 60 (exit); syscall */
const CODE = Buffer.from('bf00000000b83c0000000f05', 'hex')

/** The offset of the byte that is the exit code, in the file. */
export const EXIT_CODE_AT = CODE_AT + 1

/** A program for x86-64 that does nothing but end with this exit code. */
export function exitingProgram(exitCode: number): Buffer {
  const file = Buffer.alloc(CODE_AT + CODE.length)
  const bytes = BigInt(file.length)
  // ELF header (elf(5)): 64-bit, little-endian, version 1, an executable for x86-64.
  file.write('\x7fELF\x02\x01\x01', 'latin1')
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(62, 18)
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(ADDRESS + BigInt(CODE_AT), 24)
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(64, 52)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(1, 56)
  // The segment: loaded, readable and executable, the whole file.
  file.writeUInt32LE(1, 64)
  file.writeUInt32LE(5, 68)
  file.writeBigUInt64LE(ADDRESS, 80)
  file.writeBigUInt64LE(ADDRESS, 88)
  file.writeBigUInt64LE(bytes, 96)
  file.writeBigUInt64LE(bytes, 104)
  file.writeBigUInt64LE(4096n, 112)
  CODE.copy(file, CODE_AT)
  file.writeUInt8(exitCode, EXIT_CODE_AT)
  return file
}
