package main

import (
	"encoding/binary"

	"github.com/xtaci/kcp-go/v5"
)

const headerBytes = kcp.IKCP_OVERHEAD

// A segment is one of a datagram. Its header has 24 bytes, little-endian.
type segment struct {
	conv    uint32
	cmd     byte
	ts      uint32
	sn      uint32
	una     uint32
	payload []byte
}

// eachSegment calls f for the segments of a datagram and stops at the first that is truncated.
func eachSegment(datagram []byte, f func(segment)) {
	for len(datagram) >= headerBytes {
		seg := segment{
			conv: binary.LittleEndian.Uint32(datagram),
			cmd:  datagram[4],
			ts:   binary.LittleEndian.Uint32(datagram[8:]),
			sn:   binary.LittleEndian.Uint32(datagram[12:]),
			una:  binary.LittleEndian.Uint32(datagram[16:]),
		}
		length := uint64(binary.LittleEndian.Uint32(datagram[20:]))
		datagram = datagram[headerBytes:]
		if length > uint64(len(datagram)) {
			return
		}
		seg.payload = datagram[:length]
		datagram = datagram[length:]
		f(seg)
	}
}
