// Little-endian integers in byte buffers.
#ifndef OFFSHOOT_BYTES_H
#define OFFSHOOT_BYTES_H

#include <stdint.h>

static inline uint16_t read_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t read_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t read_u64(const uint8_t *at)
{
	return read_u32(at) | (uint64_t)read_u32(at + 4) << 32;
}

static inline void write_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static inline void write_u32(uint8_t *at, uint32_t value)
{
	write_u16(at, (uint16_t)value);
	write_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void write_u64(uint8_t *at, uint64_t value)
{
	write_u32(at, (uint32_t)value);
	write_u32(at + 4, (uint32_t)(value >> 32));
}

#endif
