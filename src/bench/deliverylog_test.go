package main

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestNumberedBytesAreWordsThatCountFromZero(t *testing.T) {
	words := slices.Concat(make([]byte, 15), []byte{1}, make([]byte, 7), []byte{2})
	for from := range words {
		if bytes := numberedBytes(int64(from), len(words)-from); !slices.Equal(bytes, words[from:]) {
			t.Errorf("from %d: %v", from, bytes)
		}
	}
}

func TestMissingAndRepeatedBytesShow(t *testing.T) {
	for _, shift := range []int64{-1176, -8, 8, 1176} {
		if firstWrong(numberedBytes(4096, 16), 4096+shift) == "" {
			t.Errorf("bytes of %d more pass", shift)
		}
	}
	if wrong := firstWrong(numberedBytes(4096, 16), 4096); wrong != "" {
		t.Error(wrong)
	}
}

func TestALogHasGapsFromTenMillisecondsOn(t *testing.T) {
	s, start := recordedSession(t, 9*time.Millisecond, 19*time.Millisecond, 500*time.Millisecond)
	if len(s.Gaps) != 2 {
		t.Fatalf("gaps %v", s.Gaps)
	}
	for _, c := range []struct {
		since, expected time.Duration
		ok              bool
	}{
		{5 * time.Millisecond, 0, true},
		{9 * time.Millisecond, 10 * time.Millisecond, true},
		{18 * time.Millisecond, time.Millisecond, true},
		{100 * time.Millisecond, 400 * time.Millisecond, true},
		{500 * time.Millisecond, 0, false},
	} {
		if d, ok := s.firstSince(start.Add(c.since)); d != c.expected || ok != c.ok {
			t.Errorf("since %v: %v, %v", c.since, d, ok)
		}
	}
}

// recordedSession is the log of a session with arrivals at these times after its start.
func recordedSession(t *testing.T, arrivals ...time.Duration) (sessionLog, time.Time) {
	var r deliveryRecorder
	s, number := r.begin()
	if number != 0 {
		t.Errorf("session %d", number)
	}
	start := time.Unix(0, s.log.BegunNs)
	for i, at := range arrivals {
		if all := s.received(numberedBytes(int64(i), 1), start.Add(at)); all != int64(i+1) {
			t.Errorf("%d bytes in all", all)
		}
	}
	return r.take().(deliveryLog).Sessions[0], start
}

func TestALogKeepsTheFirstWrongByteAndTheFirstReasonOfTheEnd(t *testing.T) {
	var r deliveryRecorder
	s, _ := r.begin()
	s.received([]byte{0, 7}, time.Now())
	s.received([]byte{8}, time.Now())
	s.ended(errors.New("first"))
	s.ended(errors.New("second"))
	log := r.take().(deliveryLog)
	if got := log.Sessions[0]; got.Wrong != "byte 1 is 7 in place of 0" || got.Ended != "first" {
		t.Errorf("%+v", got)
	}
	if note, remarks := log.verdict(); note != "wrong data" || len(remarks) != 2 {
		t.Errorf("%s: %v", note, remarks)
	}
}

func TestAVerdictNotesWhatDataAndSessionsShow(t *testing.T) {
	for _, c := range []struct {
		sessions []sessionLog
		note     string
	}{
		{nil, ""},
		{make([]sessionLog, 1), ""},
		{make([]sessionLog, 2), "new session"},
		{[]sessionLog{{Ended: "timeout"}, {}}, "ended"},
		{[]sessionLog{{Ended: "timeout"}, {Wrong: "byte 0"}}, "wrong data"},
	} {
		log := deliveryLog{Sessions: c.sessions}
		if note, _ := log.verdict(); note != c.note {
			t.Errorf("%v: %s", c.sessions, note)
		}
	}
}
