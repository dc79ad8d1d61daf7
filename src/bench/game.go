package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

// gameTraffic is what a game's client sends: in each tick a message for each entity, which the
// server echoes. io.kcp4j.load.GameClient sends the same.
type gameTraffic struct {
	entities, tickHz, messageBytes int
}

func (t *gameTraffic) flags(flags *flag.FlagSet) {
	flags.IntVar(&t.entities, "entities", 25, "messages of a game in each `tick`")
	flags.IntVar(&t.tickHz, "tick-hz", 60, "`ticks` of a game per second")
	flags.IntVar(&t.messageBytes, "message-bytes", 50, "`size` of a game's messages, 8 or more")
}

func (t *gameTraffic) check() error {
	if t.entities < 1 || t.tickHz < 1 || t.messageBytes < 8 {
		return cli.UsageErrorf("--entities %d, --tick-hz %d, --message-bytes %d: too small",
			t.entities, t.tickHz, t.messageBytes)
	}
	return nil
}

// args are the flags that set this traffic.
func (t *gameTraffic) args() []string {
	return []string{fmt.Sprintf("--entities=%d", t.entities), fmt.Sprintf("--tick-hz=%d", t.tickHz),
		fmt.Sprintf("--message-bytes=%d", t.messageBytes)}
}

func (t *gameTraffic) String() string {
	return fmt.Sprintf("%d entities x %d Hz x %d bytes, echoed", t.entities, t.tickHz, t.messageBytes)
}

func (t *gameTraffic) messagesPerSecond() float64 {
	return float64(t.entities * t.tickHz)
}

// bytesPerSecond is the payload in one direction.
func (t *gameTraffic) bytesPerSecond() float64 {
	return t.messagesPerSecond() * float64(t.messageBytes)
}

// dueAt is when a tick begins, after the first one.
func (t *gameTraffic) dueAt(tick uint64) time.Duration {
	return time.Duration(tick) * time.Second / time.Duration(t.tickHz)
}

// serveGame echoes everything.
func serveGame(s *kcpgo.Settings, address string) error {
	return s.Serve(address, 0, func(session *kcp.UDPSession) {
		_, err := io.Copy(session, session)
		fail(err)
	})
}

// playGame measures round trips from the instant when the message was due: delays of the sender
// count.
func playGame(s *kcpgo.Settings, remote string, traffic *gameTraffic) error {
	session, err := s.Dial(remote)
	if err != nil {
		return err
	}
	recorder := new(roundTripRecorder)
	start := time.Now()
	go func() { fail(sendTicks(session, traffic, start)) }()
	go func() { fail(readEchoes(session, traffic, start, recorder)) }()
	return answerMarks(recorder.take)
}

// sendTicks numbers the messages. A call of WriteBuffers is one flush of kcp-go.
func sendTicks(session *kcp.UDPSession, traffic *gameTraffic, start time.Time) error {
	lockPreciseThread()
	messages := make([][]byte, traffic.entities)
	for i := range messages {
		messages[i] = make([]byte, traffic.messageBytes)
	}
	number := uint64(0)
	for tick := uint64(0); ; tick++ {
		sleepUntil(start.Add(traffic.dueAt(tick)))
		for _, message := range messages {
			binary.BigEndian.PutUint64(message, number)
			number++
		}
		if _, err := session.WriteBuffers(messages); err != nil {
			return err
		}
	}
}

// readEchoes expects every message, in order.
func readEchoes(
	session io.Reader, traffic *gameTraffic, start time.Time, recorder *roundTripRecorder,
) error {
	message := make([]byte, traffic.messageBytes)
	for number := uint64(0); ; number++ {
		if _, err := io.ReadFull(session, message); err != nil {
			return err
		}
		if echoed := binary.BigEndian.Uint64(message); echoed != number {
			return fmt.Errorf("echo of message %d in place of %d", echoed, number)
		}
		recorder.add(time.Since(start) - traffic.dueAt(number/uint64(traffic.entities)))
	}
}
