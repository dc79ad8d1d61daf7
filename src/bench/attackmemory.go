package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// A memoryAttack is a series of forged sessions, each of which makes a server keep as much as it can.
type memoryAttack struct {
	flags     []string // of the server and of the honest client
	server    []string // of the server only
	datagrams int      // of each forged session
	write     func(d *datagram, i int)
}

var memoryAttacks = map[string]*memoryAttack{
	// Empty messages whose numbers lie far ahead, in a segment that is malformed at its end.
	"rings": {flags: []string{laneFlag}, datagrams: 10, write: func(d *datagram, i int) {
		if d.beginLanes(i) {
			return
		}
		d.beginPush(uint32(i), 0)
		for lane := range 180 {
			d.frame(orderedWhole, lane, 65_000)
			d.bytes = append(d.bytes, 0)
		}
		d.bytes = append(d.bytes, 0xff)
		d.endPush()
	}},
	// A byte at the end of each of eight large messages.
	"fragments": {flags: []string{laneFlag}, datagrams: 2, write: func(d *datagram, i int) {
		if d.beginLanes(i) {
			return
		}
		d.beginPush(uint32(i), 0)
		for lane := range 8 {
			d.frame(orderedFragment, lane, 0)
			d.varInt(largestMessage)
			d.varInt(15_000)
			d.bytes = append(d.bytes, 1, 0)
		}
		d.endPush()
	}},
	// Each lane that is named is a channel at the server.
	"lanes": {flags: []string{laneFlag}, server: []string{"--lane-channels"}, datagrams: 7,
		write: func(d *datagram, i int) {
			if d.beginLanes(i) {
				return
			}
			d.beginPush(uint32(i), 0)
			for k := range 170 {
				d.frame(orderedWhole, 170*(i-1)+k, 0)
				d.bytes = append(d.bytes, 0)
			}
			d.endPush()
		}},
	// Fragments of a message that is never complete.
	"parts": {flags: []string{"--messages"}, datagrams: 100, write: func(d *datagram, i int) {
		d.beginPush(uint32(i), byte(120-i))
		d.bytes = append(d.bytes, make([]byte, partBytes)...)
		d.endPush()
	}},
	// Data behind a segment that never comes.
	"gaps": {datagrams: 100, write: func(d *datagram, i int) {
		sn := uint32(i)
		if i > 0 {
			sn++
		}
		d.beginPush(sn, 0)
		d.bytes = append(d.bytes, make([]byte, partBytes)...)
		d.endPush()
	}},
	// Requests of large answers, which nobody receives.
	"answers": {server: []string{"--answer-bytes=8000000"}, datagrams: 1, write: func(d *datagram, _ int) {
		d.beginPush(0, 0)
		d.bytes = append(d.bytes, 0xff)
		d.endPush()
	}},
}

const (
	laneFlag        = "--lane-kind=reliable_ordered"
	orderedWhole    = 0x61 // protocol.md 15.2: with a number of 4 bytes, and a length
	orderedFragment = 0x71
	largestMessage  = 524_000
	partBytes       = 1000
	memoryLimit     = "--memory-limit=64000000"

	// lanesOffer is an offer of 1,024 lanes and 4 MiB: protocol.md 15.1.
	lanesOffer = "K\x01\x01\x08\x00--------\x0f\x06\x00\x00\x04\x00\x00\x40\x00"
)

// A datagram of a forged session.
type datagram struct {
	conv  uint32
	bytes []byte
	begin int // of the segment that is written
}

// beginLanes writes the first datagram of a session with lanes, a preface and an offer; it returns
// whether i is that.
func (d *datagram) beginLanes(i int) bool {
	if i > 0 {
		return false
	}
	d.beginPush(0, 0)
	d.bytes = append(d.bytes, 0)
	d.endPush()
	d.beginPush(0, 0)
	d.bytes[d.begin+4] = wins
	d.bytes = append(d.bytes, lanesOffer...)
	d.endPush()
	return true
}

func (d *datagram) beginPush(sn uint32, frg byte) {
	d.begin = len(d.bytes)
	d.bytes = append(d.bytes, make([]byte, headerBytes)...)
	segment := d.bytes[d.begin:]
	putHeader(segment, d.conv, push, 0, 0)
	segment[5] = frg
	binary.LittleEndian.PutUint32(segment[12:], sn)
}

func (d *datagram) endPush() {
	binary.LittleEndian.PutUint32(d.bytes[d.begin+20:], uint32(len(d.bytes)-d.begin-headerBytes))
}

func (d *datagram) frame(flags byte, lane int, number uint32) {
	d.bytes = append(d.bytes, flags)
	d.varInt(lane)
	d.bytes = binary.LittleEndian.AppendUint32(d.bytes, number)
}

func (d *datagram) varInt(value int) {
	d.bytes = binary.AppendUvarint(d.bytes, uint64(value))
}

// A memoryResult says what an honest session notices of an attack on memory.
type memoryResult struct {
	Kind       string  `json:"kind"`
	Round      int     `json:"round"`
	Rate       float64 `json:"datagrams_per_second"` // that were sent
	P50Without float64 `json:"p50_without_ms"`
	P99Without float64 `json:"p99_without_ms"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Max        float64 `json:"max_ms"`
	Messages   int64   `json:"messages_per_second"` // that were echoed during the attack
	ServerCPU  float64 `json:"server_cpu_percent"`  // of one core, during the attack
	MemoryPeak float64 `json:"server_rss_peak_mb"`
}

// A memorySummary has the medians of all rounds.
type memorySummary struct {
	Kind       string  `json:"kind"`
	Rounds     int     `json:"rounds"`
	P99Without float64 `json:"median_p99_without_ms"`
	P99        float64 `json:"median_p99_ms"`
}

// attackMemory measures the round trips of an honest session of kcp4j without and with an attack on
// the memory of its server, in alternating rounds. Each round has a server of its own.
func attackMemory(flags *flag.FlagSet, args []string) error {
	classPath := flags.String("classpath", "kcp-jmh/target/benchmarks.jar", "class path of "+loadClass)
	var of floodSettings
	of.flags(flags)
	warmUp := flags.Duration("warm-up", 10*time.Second, "`time` before the measurements of a round")
	rounds := flags.Int("rounds", 5, "how many `rounds`")
	var given jvms
	given.flag(flags)
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	if memoryAttacks[of.kind] == nil || of.rate < 1 || of.duration < time.Second || *rounds < 1 {
		return cli.UsageErrorf("--kind %s, --rate %d, --time %v, --rounds %d: expected one of %s, and at "+
			"least 1, 1s and 1", of.kind, of.rate, of.duration, *rounds, strings.Join(memoryKinds(), ", "))
	}
	java := append(given.orDefault()[0].command, "-cp", *classPath, loadClass, "--mode=game")
	var results []*memoryResult
	for round := range *rounds {
		result, err := of.memoryRound(java, *warmUp)
		if err != nil {
			return err
		}
		result.Round = round + 1
		results = append(results, result)
		if err := cli.PrintJSON(result); err != nil {
			return err
		}
	}
	return cli.PrintJSON(&memorySummary{of.kind, *rounds,
		medianOf(results, func(r *memoryResult) float64 { return r.P99Without }),
		medianOf(results, func(r *memoryResult) float64 { return r.P99 })})
}

func memoryKinds() []string {
	var kinds []string
	for kind := range memoryAttacks {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func medianOf(results []*memoryResult, value func(*memoryResult) float64) float64 {
	var values []float64
	for _, r := range results {
		values = append(values, value(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// memoryRound measures first without the attack, and then with it.
func (s *floodSettings) memoryRound(java []string, warmUp time.Duration) (*memoryResult, error) {
	attack := memoryAttacks[s.kind]
	java = append(java[:len(java):len(java)], attack.flags...)
	server, line, err := startJava(java, append(attack.server, "--listen=127.0.0.1:0", memoryLimit)...)
	if err != nil {
		return nil, err
	}
	defer server.end()
	remote := strings.TrimPrefix(line, "listening ")
	honest, err := newMeasuredProcess(javaCommand(java, "--remote="+remote, "--entities=1"))
	if err != nil {
		return nil, err
	}
	if err := honest.cmd.Start(); err != nil {
		return nil, err
	}
	defer honest.end()
	var ignored, without, with roundTrips
	time.Sleep(warmUp)
	if err := honest.request(&ignored); err != nil {
		return nil, err
	}
	time.Sleep(s.duration)
	if err := honest.request(&without); err != nil {
		return nil, err
	}
	sender, err := s.newSender(remote)
	if err != nil {
		return nil, err
	}
	pid := server.cmd.Process.Pid
	cpuBefore := cpuTimeOf(pid)
	if err := sender.cmd.Start(); err != nil {
		return nil, err
	}
	defer sender.end()
	result := &memoryResult{Kind: s.kind}
	for end := time.Now().Add(s.duration); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		result.MemoryPeak = max(result.MemoryPeak, residentMB(pid))
	}
	sent, err := sender.line()
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(sent, &result.Rate); err != nil {
		return nil, err
	}
	result.ServerCPU = 100 * (cpuTimeOf(pid) - cpuBefore).Seconds() / s.duration.Seconds()
	if err := honest.request(&with); err != nil {
		return nil, err
	}
	result.P50Without, result.P99Without = percentileOrZero(&without, 50), percentileOrZero(&without, 99)
	result.P50, result.P99 = percentileOrZero(&with, 50), percentileOrZero(&with, 99)
	result.Max = with.MaxUs / 1000
	result.Messages = int64(float64(with.Messages) / s.duration.Seconds())
	return result, nil
}
