package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

// Each byte that a measured client sends tells the server what to do with it.
const (
	counted = 0
	echoed  = 1
)

// A pinging client's messages.
const (
	pingBytes  = 50
	pingPeriod = 10 * time.Millisecond
)

// A mark reports the payload that has been delivered to this side, the time, and the round trips
// since the last mark.
type mark struct {
	Bytes int64   `json:"bytes"`
	Ns    int64   `json:"ns"`
	Pings int     `json:"pings"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
}

// A meter counts what its marks report.
type meter struct {
	start      time.Time
	bytes      atomic.Int64
	mu         sync.Mutex
	roundTrips []time.Duration
}

// rateSince returns the bytes per second since an earlier mark.
func (m mark) rateSince(earlier mark) float64 {
	return float64(m.Bytes-earlier.Bytes) / (float64(m.Ns-earlier.Ns) / 1e9)
}

func (m *meter) addRoundTrip(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roundTrips = append(m.roundTrips, d)
}

func (m *meter) mark() any {
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.Sort(m.roundTrips)
	now := mark{
		Bytes: m.bytes.Load(), Ns: int64(time.Since(m.start)), Pings: len(m.roundTrips),
		P50: percentile(m.roundTrips, 50), P99: percentile(m.roundTrips, 99),
	}
	m.roundTrips = m.roundTrips[:0]
	return now
}

// percentile is the nearest-rank percentile of the sorted times, in microseconds.
func percentile(sorted []time.Duration, percent float64) float64 {
	rank := int(math.Ceil(float64(len(sorted)) * percent / 100))
	if rank == 0 {
		return 0
	}
	return float64(sorted[rank-1]) / float64(time.Microsecond)
}

// answerMarks prints what take returns for each line "mark", and returns when standard input ends.
func answerMarks(take func() any) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "mark" {
			if err := cli.PrintJSON(take()); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// measured is the side of kcp-go in comparisons. The side of kcp4j is io.kcp4j.load.Load.
func measured(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	local := flags.String("listen", "",
		"be a server on this `address`; port 0 lets the system choose")
	remote := flags.String("remote", "", "be a client of the server at this `address`")
	mode := flags.String("mode", "sink", "what a client does: sink: send; echo: send and read back; "+
		"ping: sink, and small echoed messages in a second session; "+
		"game: a game's messages, echoed by a server of the same mode; "+
		"requests, writes, upload: numbered bytes, checked by a server of the same mode")
	var traffic gameTraffic
	var numbered numberedTraffic
	traffic.flags(flags)
	numbered.flags(flags)
	s.SessionFlags(flags)
	err := errors.Join(
		cli.Parse(flags, args), s.CheckSession(), traffic.check(), numbered.check())
	if err != nil {
		return err
	}
	m := &meter{start: time.Now()}
	switch {
	case (*local == "") == (*remote == ""):
		err = cli.UsageErrorf("expected --listen or --remote")
	case isNumbered(*mode):
		p := &numberedPeer{settings: &s, mode: *mode, traffic: &numbered, game: &traffic}
		return p.run(*local, *remote)
	case *mode == "game" && *local != "":
		go func() { fail(serveGame(&s, *local)) }()
	case *mode == "game":
		return playGame(&s, *remote, &traffic)
	case *local != "":
		err = m.serve(&s, *local)
	case *mode == "sink":
		err = m.saturate(&s, *remote, counted)
	case *mode == "echo":
		err = m.saturate(&s, *remote, echoed)
	case *mode == "ping":
		err = errors.Join(m.saturate(&s, *remote, counted), m.ping(&s, *remote))
	default:
		err = cli.UsageErrorf("--mode %q: expected sink, echo, ping, game, "+
			"requests, writes or upload", *mode)
	}
	if err != nil {
		return err
	}
	return answerMarks(m.mark)
}

func (m *meter) serve(s *kcpgo.Settings, address string) error {
	listener, err := s.Listen(address)
	if err != nil {
		return err
	}
	go func() {
		for {
			session, err := s.Accept(listener)
			if err != nil {
				fail(err)
			}
			go m.answer(session)
		}
	}()
	return nil
}

// answer counts what arrives, and echoes it if its sender asks for that.
func (m *meter) answer(session *kcp.UDPSession) {
	chunk := make([]byte, chunkBytes)
	for {
		n, err := session.Read(chunk)
		if err != nil {
			fail(err)
		}
		m.bytes.Add(int64(n))
		if chunk[0] == echoed {
			if _, err := session.Write(chunk[:n]); err != nil {
				fail(err)
			}
		}
	}
}

// saturate starts to write as fast as the session accepts, and to count the echo.
func (m *meter) saturate(s *kcpgo.Settings, remote string, content byte) error {
	session, err := s.Dial(remote)
	if err != nil {
		return err
	}
	go func() {
		chunk := bytes.Repeat([]byte{content}, chunkBytes)
		for {
			if _, err := session.Write(chunk); err != nil {
				fail(err)
			}
		}
	}()
	go func() {
		chunk := make([]byte, chunkBytes)
		for {
			n, err := session.Read(chunk)
			if err != nil {
				fail(err)
			}
			m.bytes.Add(int64(n))
		}
	}()
	return nil
}

// ping starts to send small messages at a constant rate. A round trip begins when its message is
// due: the delay of a late sender counts.
func (m *meter) ping(s *kcpgo.Settings, remote string) error {
	session, err := s.Dial(remote)
	if err != nil {
		return err
	}
	start := time.Now()
	due := func(i int) time.Time { return start.Add(time.Duration(i) * pingPeriod) }
	go func() {
		message := bytes.Repeat([]byte{echoed}, pingBytes)
		for i := 0; ; i++ {
			time.Sleep(time.Until(due(i)))
			if _, err := session.Write(message); err != nil {
				fail(err)
			}
		}
	}()
	go func() {
		chunk := make([]byte, chunkBytes)
		for received, echoes := 0, 0; ; {
			n, err := session.Read(chunk)
			if err != nil {
				fail(err)
			}
			for received += n; echoes < received/pingBytes; echoes++ {
				m.addRoundTrip(time.Since(due(echoes)))
			}
		}
	}()
	return nil
}

// fail ends the process: further measurements would be wrong.
func fail(err error) {
	os.Stderr.WriteString("bench measured: " + err.Error() + "\n")
	os.Exit(1)
}
