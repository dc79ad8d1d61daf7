package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"unsafe"
)

const fecTraceFormat = `# What the FEC decoder of such a session recovers. "fec NAME", then "in PACKET" for each packet that arrives, and
# "recovered DATAGRAM" for what it yields, as hexadecimal digits.`

// A fecTraceCase is a stream of packets of one ratio, of which some are lost, and neighbours
// change places.
type fecTraceCase struct {
	name         string
	dataShards   int
	parityShards int
	paritySent   int // of each group; the others use up their numbers
	wholeGroups  int // at first, with all parity, in order and without loss
	loss         float64
	reordering   float64
	packets      int
	sizes        int // how many sizes there are
}

var fecTraceCases = []fecTraceCase{
	{"3/1", 3, 1, 1, 4, 0.05, 0.05, 600, 8},
	{"1/1", 1, 1, 1, 4, 0.1, 0.05, 400, 8},
	{"4/3", 4, 3, 3, 4, 0.1, 0.1, 600, 8},
	{"4/3-one-sent", 4, 3, 1, 4, 0.03, 0.02, 600, 8},
	{"3/2-lossy-begin", 3, 2, 2, 0, 0.5, 0, 60, 1}, // What it recovers at first was never sent.
}

// traceFEC prints what kcp-go's decoder does, which begins with a ratio of 1/1.
func traceFEC(out io.Writer) {
	fmt.Fprintln(out, fecTraceFormat)
	for seed, c := range fecTraceCases {
		fmt.Fprintf(out, "fec %s\n", c.name)
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		decoder := newFECDecoder(1, 1)
		for _, packet := range c.packetsThatArrive(random) {
			fmt.Fprintf(out, "in %x\n", packet)
			for _, r := range decodeFEC(decoder, packet) {
				if len(r) < 2 {
					continue
				}
				if size := int(binary.LittleEndian.Uint16(r)); size >= 2 && size <= len(r) {
					fmt.Fprintf(out, "recovered %x\n", r[2:size])
				}
			}
		}
	}
}

func (c fecTraceCase) packetsThatArrive(random *rand.Rand) [][]byte {
	encoder := newFECEncoder(c.dataShards, c.parityShards, 0)
	var packets [][]byte
	for sent := 0; len(packets) < c.packets; sent++ {
		isWhole := sent < c.wholeGroups*c.dataShards
		arrives := func() bool { return isWhole || random.Float64() >= c.loss }
		data := make([]byte, 8+24+random.IntN(c.sizes))
		for i := range data {
			data[i] = byte(sent + i/4)
		}
		parity := encodeFEC(encoder, data, 500)
		if arrives() {
			packets = append(packets, data)
		}
		for i, p := range parity {
			if (isWhole || i < c.paritySent) && arrives() {
				packets = append(packets, append([]byte(nil), p...))
			}
		}
		if n := len(packets); !isWhole && n > 1 && random.Float64() < c.reordering {
			packets[n-1], packets[n-2] = packets[n-2], packets[n-1]
		}
	}
	return packets
}

//go:linkname newFECDecoder github.com/xtaci/kcp-go/v5.newFECDecoder
func newFECDecoder(dataShards, parityShards int) unsafe.Pointer

//go:linkname decodeFEC github.com/xtaci/kcp-go/v5.(*fecDecoder).decode
func decodeFEC(decoder unsafe.Pointer, packet []byte) [][]byte

//go:linkname encodeFEC github.com/xtaci/kcp-go/v5.(*fecEncoder).encode
func encodeFEC(encoder unsafe.Pointer, data []byte, gapMs uint32) [][]byte
