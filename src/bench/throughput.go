package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

const chunkBytes = 64 << 10 // of a read or write

type throughput struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	MBps    float64 `json:"mb_s"`
	kcpgo.Counters
}

func newThroughput(bytes int64, elapsed time.Duration) throughput {
	seconds := elapsed.Seconds()
	result := throughput{Bytes: bytes, Seconds: seconds, Counters: kcpgo.CountersNow()}
	if seconds > 0 {
		result.MBps = float64(bytes) / 1e6 / seconds
	}
	return result
}

func sink(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	address := flags.String("listen", "127.0.0.1:0",
		"`address` to listen on; port 0 lets the system choose")
	count := flags.Int("count", 0, "exit after so many `sessions` have ended; 0: never")
	quiet := flags.Duration("quiet", time.Second,
		"a session without traffic for this `time` has ended")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession()); err != nil {
		return err
	}
	if *untilEOF {
		kcpgo.ExitOnEOF()
	}
	return s.Serve(*address, *count, func(session *kcp.UDPSession) {
		cli.PrintJSON(drain(session, *quiet))
	})
}

// drain counts what arrives. The time runs from the first read to the last.
func drain(session *kcp.UDPSession, quiet time.Duration) throughput {
	var received atomic.Int64
	var first, last time.Time
	go kcpgo.CloseWhenQuiet(session, &received, quiet)
	chunk := make([]byte, chunkBytes)
	for {
		n, err := session.Read(chunk)
		if err != nil {
			return newThroughput(received.Load(), last.Sub(first))
		}
		received.Add(int64(n))
		last = time.Now()
		if first.IsZero() {
			first = last
		}
	}
}

func source(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	remote := flags.String("remote", "", "`address` of the sink")
	duration := flags.Float64("duration", 10, "how long to send, in `seconds`")
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession()); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}
	session, err := s.Dial(*remote)
	if err != nil {
		return err
	}
	defer session.Close()
	defer s.Linger()

	chunk := randomBytes(chunkBytes)
	start := time.Now()
	limit := time.Duration(*duration * float64(time.Second))
	session.SetWriteDeadline(start.Add(limit))
	written := int64(0)
	for time.Since(start) < limit {
		n, err := session.Write(chunk)
		if isTimeout(err) {
			break
		}
		if err != nil {
			return err
		}
		written += int64(n)
	}
	return cli.PrintJSON(newThroughput(written, time.Since(start)))
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// flood prints the counts of the sink, with the retransmissions of the source.
func flood(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	duration := flags.Float64("duration", 10, "how long to send, in `seconds`")
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession()); err != nil {
		return err
	}
	var shared []string
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "duration" {
			shared = append(shared, fmt.Sprintf("--%s=%v", f.Name, f.Value))
		}
	})

	receiver := self(append([]string{"sink", "--count=1", "--exit-on-eof"}, shared...))
	stdin, err := receiver.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := receiver.StdoutPipe()
	if err != nil {
		return err
	}
	if err := receiver.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	address, ok := strings.CutPrefix(lines.Text(), "listening ")
	if !ok {
		return fmt.Errorf("unexpected output of the sink: %q", lines.Text())
	}

	sender := self(append([]string{
		"source", "--remote", address, fmt.Sprintf("--duration=%v", *duration)}, shared...))
	report, err := sender.Output()
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	lines.Scan()
	var sent, received throughput
	err = errors.Join(json.Unmarshal(report, &sent), json.Unmarshal(lines.Bytes(), &received))
	if err != nil {
		return err
	}
	received.Retransmitted = sent.Retransmitted
	return errors.Join(receiver.Wait(), cli.PrintJSON(received))
}

func self(args []string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	return cmd
}
