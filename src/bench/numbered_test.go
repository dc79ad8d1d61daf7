package main

import (
	"flag"
	"testing"
	"time"

	"github.com/kcp4j/kcp4j/interop/kcpgo"
)

func TestNumberedBytesAreEchoedOrAnswered(t *testing.T) {
	for _, c := range []struct {
		mode     string
		traffic  numberedTraffic
		sessions []int64 // bytes that the client has received in each, at least
	}{
		{requestsMode, numberedTraffic{inFlight: 1}, []int64{100 * 50}},
		{requestsMode, numberedTraffic{inFlight: 16}, []int64{100 * 50}},
		{writesMode, numberedTraffic{inFlight: 1}, []int64{100 * 50}},
		{uploadMode, numberedTraffic{uploadBytes: 200_001}, []int64{answerBytes}},
		{uploadMode, numberedTraffic{uploadBytes: 200_001, warmUpBytes: 70_000},
			[]int64{answerBytes, answerBytes}},
	} {
		server, client := newNumberedPeer(c.mode, &c.traffic), newNumberedPeer(c.mode, &c.traffic)
		listener, err := server.settings.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go server.accept(listener)
		if err := client.start(listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		log := awaitSessions(t, client, c.sessions)
		if note, remarks := log.verdict(); note != "" && note != "new session" {
			t.Errorf("%s: client: %v", c.mode, remarks)
		}
		log = server.recorder.take().(deliveryLog)
		if note, remarks := log.verdict(); note != "" && note != "new session" {
			t.Errorf("%s: server: %v", c.mode, remarks)
		}
	}
}

func newNumberedPeer(mode string, traffic *numberedTraffic) *numberedPeer {
	var s kcpgo.Settings
	s.SessionFlags(flag.NewFlagSet("", flag.PanicOnError))
	game := &gameTraffic{entities: 1, tickHz: 500, messageBytes: 50}
	return &numberedPeer{settings: &s, mode: mode, traffic: traffic, game: game}
}

func awaitSessions(t *testing.T, p *numberedPeer, bytes []int64) deliveryLog {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		log := p.recorder.take().(deliveryLog)
		complete := len(log.Sessions) == len(bytes)
		for i := 0; complete && i < len(bytes); i++ {
			complete = log.Sessions[i].Bytes >= bytes[i]
		}
		if complete {
			return log
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v", p.mode, log.Sessions)
		}
	}
}
