package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/klauspost/reedsolomon"
	"github.com/xtaci/kcp-go/v5"
)

const (
	largestPacket = 1500 // bytes, as in kcp-go's own cipher benchmarks
	usualPacket   = 1400
	nonceBytes    = 16 // of ciphers other than AEADs
	cryptoHeader  = nonceBytes + 4
)

// A codecBenchmark measures what kcp-go does to a packet. One iteration handles so many packets.
type codecBenchmark struct {
	name    string
	packets int
	run     func(b *testing.B)
}

// A codecSpeed is a result of a codecBenchmark, for one packet.
type codecSpeed struct {
	Name        string  `json:"name"`
	Nanoseconds float64 `json:"ns"`
}

func codecs(flags *flag.FlagSet, args []string) error {
	match := flags.String("match", "", "only those whose name this regular `expression` finds")
	duration := flags.Duration("time", 250*time.Millisecond, "`time` of each measurement")
	count := flags.Int("count", 1, "how many measurements of each benchmark")
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return cli.UsageErrorf("--match: %v", err)
	}
	testing.Init()
	if err := flag.Set("test.benchtime", duration.String()); err != nil {
		return err
	}
	for _, benchmark := range slices.Repeat(codecBenchmarks(), max(*count, 0)) {
		if !pattern.MatchString(benchmark.name) {
			continue
		}
		result := testing.Benchmark(benchmark.run)
		if result.N == 0 {
			return fmt.Errorf("%s failed", benchmark.name)
		}
		packets := float64(result.N) * float64(benchmark.packets)
		err := cli.PrintJSON(codecSpeed{benchmark.name, float64(result.T.Nanoseconds()) / packets})
		if err != nil {
			return err
		}
	}
	return nil
}

func codecBenchmarks() []codecBenchmark {
	var all []codecBenchmark
	add := func(name string, run func(b *testing.B)) {
		all = append(all, codecBenchmark{name, 1, run})
	}
	for _, c := range kcpgo.Ciphers {
		if c.Name == "null" {
			continue
		}
		if !isAEAD(c) {
			add("crypt/"+c.Name, func(b *testing.B) { cryptAlone(b, c) })
		}
		add("seal+open/"+c.Name, func(b *testing.B) { sealAndOpen(b, c) })
		add("seal/"+c.Name, func(b *testing.B) { sealOnly(b, c) })
	}
	for _, ratio := range [][2]int{{10, 3}, {20, 10}} {
		data, parity := ratio[0], ratio[1]
		name := fmt.Sprintf("%d+%d", data, parity)
		add("rs-encode/"+name, func(b *testing.B) { reedSolomonEncode(b, data, parity) })
		add("rs-decode-one/"+name, func(b *testing.B) { reedSolomonDecode(b, data, parity, 1) })
		add("rs-decode/"+name, func(b *testing.B) { reedSolomonDecode(b, data, parity, parity) })
	}
	add("nonce", nonce)
	add("crc32", checksum)
	return append(all,
		codecBenchmark{"fec-encode/10+3", 10, func(b *testing.B) { fecEncode(b, 10, 3) }},
		codecBenchmark{"fec-decode/10+3", 10, func(b *testing.B) { fecDecode(b, 10, 3, 0) }},
		codecBenchmark{"fec-recover/10+3", 10, func(b *testing.B) { fecDecode(b, 10, 3, 1) }})
}

func isAEAD(c kcpgo.Cipher) bool {
	return strings.HasSuffix(c.Name, "-gcm") || strings.HasSuffix(c.Name, "-poly1305")
}

func randomBytes(size int) []byte {
	return randomBytesOf(0, size)
}

func randomBytesOf(seed byte, size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// A packetSealer encrypts and decrypts packets in place, as kcp-go's sessions do.
type packetSealer struct {
	seal func(packet []byte)
	open func(packet []byte) error
}

func newPacketSealer(c kcpgo.Cipher) (packetSealer, error) {
	cipher, err := c.New(randomBytes(c.KeyBytes))
	if err != nil {
		return packetSealer{}, err
	}
	random := kcp.NewEntropy()
	if aead, ok := cipher.(aead); ok {
		return sealerOf(aead, random), nil
	}
	return packetSealer{
		seal: func(packet []byte) {
			io.ReadFull(random, packet[:nonceBytes])
			checksum := crc32.ChecksumIEEE(packet[cryptoHeader:])
			binary.LittleEndian.PutUint32(packet[nonceBytes:], checksum)
			cipher.Encrypt(packet, packet)
		},
		open: func(packet []byte) error {
			cipher.Decrypt(packet, packet)
			if crc32.ChecksumIEEE(packet[cryptoHeader:]) != binary.LittleEndian.Uint32(packet[nonceBytes:]) {
				return errors.New("the checksum is wrong")
			}
			return nil
		},
	}, nil
}

// aead has the methods of kcp-go's AEADs that kcp.BlockCrypt lacks.
type aead interface {
	Seal(dst, nonce, plaintext, additionalData []byte) []byte
	Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error)
	NonceSize() int
	Overhead() int
}

func sealerOf(cipher aead, random io.Reader) packetSealer {
	head, tail := cipher.NonceSize(), cipher.Overhead()
	return packetSealer{
		seal: func(packet []byte) {
			nonce, end := packet[:head], len(packet)-tail
			io.ReadFull(random, nonce)
			cipher.Seal(nonce, nonce, packet[head:end], nil)
		},
		open: func(packet []byte) error {
			_, err := cipher.Open(packet[head:head], packet[:head], packet[head:], nil)
			return err
		},
	}
}

// cryptAlone does the same as kcp-go's own benchmarks: no nonce, no checksum, not in place.
func cryptAlone(b *testing.B, c kcpgo.Cipher) {
	cipher, err := c.New(randomBytes(c.KeyBytes))
	if err != nil {
		b.Fatal(err)
	}
	data := randomBytes(largestPacket)
	sealed, opened := make([]byte, largestPacket), make([]byte, largestPacket)
	for b.Loop() {
		cipher.Encrypt(sealed, data)
		cipher.Decrypt(opened, sealed)
	}
}

func sealAndOpen(b *testing.B, c kcpgo.Cipher) {
	sealer, err := newPacketSealer(c)
	if err != nil {
		b.Fatal(err)
	}
	packet := randomBytes(largestPacket)
	for b.Loop() {
		sealer.seal(packet)
		if err := sealer.open(packet); err != nil {
			b.Fatal(err)
		}
	}
}

func sealOnly(b *testing.B, c kcpgo.Cipher) {
	sealer, err := newPacketSealer(c)
	if err != nil {
		b.Fatal(err)
	}
	packet := randomBytes(usualPacket)
	for b.Loop() {
		sealer.seal(packet)
	}
}

func nonce(b *testing.B) {
	random := kcp.NewEntropy()
	nonce := make([]byte, nonceBytes)
	for b.Loop() {
		io.ReadFull(random, nonce)
	}
}

// checksum is of as many bytes as in kcp-go's own benchmark.
func checksum(b *testing.B) {
	content := randomBytes(1024)
	for b.Loop() {
		crc32.ChecksumIEEE(content)
	}
}

func shardsOf(data, parity int) [][]byte {
	shards := make([][]byte, data+parity)
	for i := range shards {
		shards[i] = randomBytesOf(byte(i), usualPacket)
	}
	return shards
}

// reedSolomonEncode computes the parity of one group.
func reedSolomonEncode(b *testing.B, data, parity int) {
	codec, err := reedsolomon.New(data, parity)
	if err != nil {
		b.Fatal(err)
	}
	shards := shardsOf(data, parity)
	for b.Loop() {
		if err := codec.Encode(shards); err != nil {
			b.Fatal(err)
		}
	}
}

// reedSolomonDecode recovers the first data packets of a group.
func reedSolomonDecode(b *testing.B, data, parity, lost int) {
	codec, err := reedsolomon.New(data, parity)
	if err != nil {
		b.Fatal(err)
	}
	shards := shardsOf(data, parity)
	if err := codec.Encode(shards); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for i := range lost {
			shards[i] = shards[i][:0]
		}
		if err := codec.ReconstructData(shards); err != nil {
			b.Fatal(err)
		}
	}
}

const parityGap = 500 // ms, as in kcp-go's sessions

// fecEncode sends a group.
func fecEncode(b *testing.B, data, parity int) {
	encoder := newFECEncoder(data, parity, 0)
	packet := randomBytes(usualPacket)
	for b.Loop() {
		for range data {
			fecEncoderEncode(encoder, packet, parityGap)
		}
	}
}

// fecDecode receives groups of which the first packets, lost in number, are missing.
func fecDecode(b *testing.B, data, parity, lost int) {
	encoder := newFECEncoder(data, parity, 0)
	var group [][]byte
	for range data {
		packet := randomBytes(usualPacket)
		group = append(group, packet)
		group = append(group, fecEncoderEncode(encoder, packet, parityGap)...)
	}
	decoder := newFECDecoder(data, parity)
	seqid := uint32(0)
	for b.Loop() {
		recovered := 0
		for place, packet := range group {
			if place >= lost {
				binary.LittleEndian.PutUint32(packet, seqid)
				for _, payload := range fecDecoderDecode(decoder, packet) {
					recovered++
					bufferPoolPut(defaultBufferPool, payload)
				}
			}
			seqid++
		}
		if recovered != lost {
			b.Fatalf("%d of %d packets recovered", recovered, lost)
		}
	}
}

//go:linkname fecEncoderEncode github.com/xtaci/kcp-go/v5.(*fecEncoder).encode
func fecEncoderEncode(encoder unsafe.Pointer, packet []byte, gapMs uint32) [][]byte

//go:linkname newFECDecoder github.com/xtaci/kcp-go/v5.newFECDecoder
func newFECDecoder(dataShards, parityShards int) unsafe.Pointer

//go:linkname fecDecoderDecode github.com/xtaci/kcp-go/v5.(*fecDecoder).decode
func fecDecoderDecode(decoder unsafe.Pointer, packet []byte) [][]byte

//go:linkname newFECEncoder github.com/xtaci/kcp-go/v5.newFECEncoder
func newFECEncoder(dataShards, parityShards, headerOffset int) unsafe.Pointer

//go:linkname defaultBufferPool github.com/xtaci/kcp-go/v5.defaultBufferPool
var defaultBufferPool unsafe.Pointer

//go:linkname bufferPoolPut github.com/xtaci/kcp-go/v5.(*bufferPool).Put
func bufferPoolPut(pool unsafe.Pointer, buffer []byte) error
