package main

import (
	"fmt"
	"sync"
	"time"
)

// minGap is the shortest time between two arrivals that is logged, here and in
// io.kcp4j.load.DeliveryLog.
const minGap = 10 * time.Millisecond

// A deliveryLog says when numbered bytes have arrived at a process, in each of its sessions, and
// whether they were those that were sent. Instants are in nanoseconds since the epoch: all processes
// share the clock of the machine.
type deliveryLog struct {
	Sessions   []sessionLog `json:"sessions"`
	RoundTrips roundTrips   `json:"round_trips"` // since the last mark, of all sessions
}

// A sessionLog has the arrivals of one session.
type sessionLog struct {
	BegunNs int64      `json:"begun_ns"`
	Bytes   int64      `json:"bytes"`
	LastNs  int64      `json:"last_ns"` // the last arrival; BegunNs if there was none
	Gaps    [][2]int64 `json:"gaps"`    // from one arrival to the next, of minGap or more
	Wrong   string     `json:"wrong"`   // the first byte that differs from what was sent
	Ended   string     `json:"ended"`   // why the session has ended; "" if it has not
}

// firstSince is the time from the instant to the next arrival, and false if there was none. Arrivals
// that are less than minGap apart count as one.
func (s *sessionLog) firstSince(instant time.Time) (time.Duration, bool) {
	ns := instant.UnixNano()
	for _, gap := range s.Gaps {
		if gap[0] <= ns && ns < gap[1] {
			return time.Duration(gap[1] - ns), true
		}
	}
	return 0, s.LastNs > ns
}

// verdict notes in a word what is wrong with the sessions, if anything, and remarks on each.
func (l *deliveryLog) verdict() (note string, remarks []string) {
	for i, session := range l.Sessions {
		if session.Ended != "" {
			note = "ended"
			remarks = append(remarks, fmt.Sprintf("session %d: %s", i, session.Ended))
		}
	}
	for i, session := range l.Sessions {
		if session.Wrong != "" {
			note = "wrong data"
			remarks = append(remarks, fmt.Sprintf("session %d: %s", i, session.Wrong))
		}
	}
	if len(l.Sessions) > 1 && note == "" {
		note = "new session"
	}
	return note, remarks
}

// numbered is the byte at a position of what every client sends: big-endian words of 64 bits that
// count from 0. Bytes that are missing, repeated or exchanged therefore show.
func numbered(position int64) byte {
	return byte(position >> 3 >> (56 - 8*(position&7)))
}

// numberedBytes returns those from a position on.
func numberedBytes(from int64, count int) []byte {
	bytes := make([]byte, count)
	for i := range bytes {
		bytes[i] = numbered(from + int64(i))
	}
	return bytes
}

// A deliveryRecorder writes the log of a process.
type deliveryRecorder struct {
	mu         sync.Mutex
	sessions   []*sessionLog
	roundTrips roundTripRecorder
}

// take returns the log until now.
func (r *deliveryRecorder) take() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := deliveryLog{RoundTrips: r.roundTrips.take().(roundTrips)}
	for _, session := range r.sessions {
		log.Sessions = append(log.Sessions, *session)
	}
	return log
}

// A sessionRecorder writes the log of one session.
type sessionRecorder struct {
	*deliveryRecorder
	log *sessionLog
}

// begin adds a session, and returns how many there were before it.
func (r *deliveryRecorder) begin() (*sessionRecorder, int) {
	now := time.Now().UnixNano()
	log := &sessionLog{BegunNs: now, LastNs: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = append(r.sessions, log)
	return &sessionRecorder{r, log}, len(r.sessions) - 1
}

// received logs and checks what has arrived, and returns how many bytes there were in all. After the
// first wrong byte it only counts.
func (s *sessionRecorder) received(chunk []byte, now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, ns := s.log, now.UnixNano()
	if ns-log.LastNs >= int64(minGap) {
		log.Gaps = append(log.Gaps, [2]int64{log.LastNs, ns})
	}
	log.LastNs = ns
	if log.Wrong == "" {
		log.Wrong = firstWrong(chunk, log.Bytes)
	}
	log.Bytes += int64(len(chunk))
	return log.Bytes
}

// firstWrong describes the first byte that differs from the numbered ones; "" if there is none.
func firstWrong(chunk []byte, position int64) string {
	for i, b := range chunk {
		if at := position + int64(i); b != numbered(at) {
			return fmt.Sprintf("byte %d is %d in place of %d", at, b, numbered(at))
		}
	}
	return ""
}

// ended logs why the session has ended.
func (s *sessionRecorder) ended(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.Ended == "" {
		s.log.Ended = cause.Error()
	}
}
